import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { maxStderrBytes, readOutput, readStderr } from '../../../src/link/sandbox/output.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('readOutput', () => {
  it('reads what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!text.includes('"__proto__":') && text.isWellFormed());
        expect(readOutput(bytes(text))).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  it('takes keys that are odd names and nothing more', () => {
    for (const key of ['constructor', 'prototype', 'toString', 'hasOwnProperty']) {
      const value = { [key]: 'Ferrari', deep: [{ [key]: 1 }] };
      expect(readOutput(bytes(JSON.stringify(value)))).toEqual({ ok: true, value });
    }
  });

  it.each([
    ['nothing', ''],
    ['space', ' \n'],
    ['prose', 'hello'],
    ['a second value', '{} {}'],
    ['a byte order mark', '\ufeff1'],
    ['NaN', 'NaN'],
    ['a number that is not finite', '1e999'],
    ['__proto__', '{"__proto__":1}'],
    ['__proto__ in disguise, deep', '[{"a":{"\\u005f_proto__":1}}]'],
    ['a key twice', '{"a":1,"a":2}'],
    ['half a surrogate pair', '"\\ud800"'],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['NUL after the value', '1\0'],
  ])('refuses %s', (_, text) => {
    expect(readOutput(bytes(text)).ok).toBe(false);
  });

  it('refuses bytes that are not UTF-8', () => {
    for (const tail of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      expect(readOutput(Uint8Array.from([0x22, ...tail, 0x22])).ok).toBe(false);
    }
  });

  it('repeats nothing of the output in what it says', () => {
    const output = readOutput(bytes('{"token":"s3cret" oops'));
    expect(JSON.stringify(output)).not.toMatch(/s3cret|token|oops/);
  });
});

describe('readStderr', () => {
  it('makes control characters visible and keeps lines', () => {
    expect(readStderr(bytes('\x1b[2Ja\r\nb\u202e'))).toBe('\\u{1b}[2Ja\\u{d}\nb\\u{202e}');
  });

  it('stays within its bytes for any bytes', () => {
    const wide = bytes('\x07é'.repeat(maxStderrBytes));
    expect(bytes(readStderr(wide)).length).toBeLessThanOrEqual(maxStderrBytes);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (any) => {
        const text = readStderr(any);
        expect(text.isWellFormed()).toBe(true);
        expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f]/);
      }),
    );
  });
});
