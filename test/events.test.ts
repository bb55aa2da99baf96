import { expect, test } from 'vitest';
import { createEvents } from '../src/events.ts';

type Numbers = { number: number };

test('an iterator gives what came before and after the read, to several readers in order, and ends', async () => {
  const events = createEvents<Numbers>(() => {});
  const closer = new AbortController();
  const iterator = events.iterate('number', closer.signal);
  events.emit('number', 1);
  const reads = [iterator.next(), iterator.next(), iterator.next()];
  events.emit('number', 2);
  events.emit('number', 3);
  expect(await Promise.all(reads)).toEqual([1, 2, 3].map((value) => ({ done: false, value })));
  const last = [iterator.next(), iterator.next()];
  closer.abort();
  expect(await Promise.all(last)).toEqual(Array(2).fill({ done: true, value: undefined }));
  events.emit('number', 4);
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
});

test('leaving the loop stops listening', async () => {
  const events = createEvents<Numbers>(() => {});
  const seen: number[] = [];
  const iterator = events.iterate('number', new AbortController().signal);
  for (const value of [1, 2, 3]) events.emit('number', value);
  for await (const value of iterator) {
    seen.push(value);
    if (value === 2) break;
  }
  events.emit('number', 4);
  expect(seen).toEqual([1, 2]);
  expect(await iterator.next()).toEqual({ done: true, value: undefined });
});
