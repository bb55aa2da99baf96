import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { isUntrusted, untrusted } from '../../src/result/untrusted.ts';

const secret = 'what-the-tool-said';

describe('an untrusted value', () => {
  const value = untrusted({ [secret]: secret });

  test('is had by asking for it', () => {
    expect(value.reveal()).toEqual({ [secret]: secret });
    expect(untrusted(null).reveal()).toBeNull();
  });

  test('is not shown by anything else', () => {
    const shown: unknown[] = [
      JSON.stringify(value),
      JSON.stringify({ nested: [value] }, null, 2),
      String(value),
      `${value}`,
      `a${value as unknown as string}`,
      inspect(value),
      inspect(value, { depth: 9, showHidden: true, getters: true }),
      Object.keys(value),
      Object.entries(value).map(String),
      Object.values(value).map(String),
      JSON.stringify(Object.getOwnPropertyDescriptors(value)),
      JSON.stringify({ ...value }),
    ];
    for (const one of shown) expect(String(one)).not.toContain(secret);
    expect(JSON.stringify({ value })).toBe('{"value":"[untrusted value]"}');
    expect(String(value)).toBe('[untrusted value]');
  });

  test('cannot be cloned to somewhere else', () => {
    expect(() => structuredClone(value)).toThrow(expect.objectContaining({ name: 'DataCloneError' }));
  });

  test('cannot be changed', () => {
    expect(() => Object.assign(value, { reveal: () => 'other' })).toThrow(TypeError);
  });

  test('is told from everything else, over copies of the library too', () => {
    expect(isUntrusted(value)).toBe(true);
    expect(isUntrusted({ [Symbol.for('openvibe-skill-run.untrusted')]: true })).toBe(true);
    for (const other of [
      undefined,
      null,
      'text',
      {},
      { reveal: () => 1 },
      JSON.parse(JSON.stringify({ value })),
    ]) {
      expect(isUntrusted(other)).toBe(false);
    }
  });
});
