import { expect, test } from 'vitest';
import { createMediaStore } from '../../src/link/media.ts';
import { sha256, utf8 } from '../../src/skill/sha256.ts';
import { mediaId } from './helpers.ts';

const { signal } = new AbortController();

async function resource(text: string, id = mediaId) {
  return { mediaId: id, sha256: await sha256(text), bytes: utf8(text) };
}

test('what was provided is found under its id and hash alone, and is a copy', async () => {
  const { provide, source } = createMediaStore();
  const one = await resource('one');
  provide([one]);
  one.bytes.fill(0);
  expect(await source(mediaId, { sha256: one.sha256, signal })).toEqual(Uint8Array.from(utf8('one')));
  expect(await source(mediaId, { sha256: '0'.repeat(64), signal })).toBeUndefined();
});

test("another's media id with other bytes replaces nothing", async () => {
  const { provide, source } = createMediaStore();
  const mine = await resource('mine');
  provide([mine]);
  provide([await resource('theirs')]);
  expect(await source(mediaId, { sha256: mine.sha256, signal })).toEqual(Uint8Array.from(utf8('mine')));
});

test('it is bounded: the longest unused go, and one above the bound is refused', async () => {
  const { provide, source } = createMediaStore(20);
  const [a, b, c] = await Promise.all(['aaaaaaaa', 'bbbbbbbb', 'cccccccc'].map((text) => resource(text)));
  if (!a || !b || !c) throw new Error('three');
  provide([a, b, a]);
  await source(mediaId, { sha256: a.sha256, signal });
  provide([c]);
  expect(await source(mediaId, { sha256: b.sha256, signal })).toBeUndefined();
  expect(await source(mediaId, { sha256: a.sha256, signal })).toBeDefined();
  expect(() => provide([{ ...a, bytes: new Uint8Array(21) }])).toThrow(
    expect.objectContaining({ code: 'option_invalid' }),
  );
});
