import { expect, test } from 'vitest';
import { createFairQueue } from '../../src/link/fair-queue.ts';

const all = <Item>(queue: ReturnType<typeof createFairQueue<Item>>): Item[] =>
  Array.from({ length: queue.size }, () => queue.take((item) => item)).filter((item) => item !== undefined);

test('each line in turn, and in a line who came first', () => {
  const queue = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']) queue.add(item.charAt(0), item);
  expect(queue.size).toBe(7);
  expect(all(queue)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  expect(queue.size).toBe(0);
});

test('what cannot be served keeps neither its line nor its turn from others', () => {
  const queue = createFairQueue<string>();
  for (const item of ['a-stuck', 'b-stuck', 'a1', 'b1']) queue.add(item.charAt(0), item);
  const take = () => queue.take((item) => (item.endsWith('stuck') ? undefined : item));
  expect([take(), take(), take()]).toEqual(['a1', 'b1', undefined]);
  expect(queue.size).toBe(2);
});

test('what was taken out by hand is not counted twice', () => {
  const queue = createFairQueue<string>();
  queue.add('a', 'a1');
  queue.delete('a', 'a1');
  queue.delete('a', 'a1');
  queue.delete('b', 'b1');
  expect(queue.size).toBe(0);
  expect(queue.take((item) => item)).toBeUndefined();
});
