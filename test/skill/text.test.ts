import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codePoints, excerpt, hasInvisible, visible } from '../../src/skill/text.ts';

const hidden = [
  ...[
    '\0',
    '\u001b',
    '\u007f',
    '\u0085',
    '\u00ad',
    '\u034f',
    '\u061c',
    '\u115f',
    '\u17b4',
    '\u180e',
    '\u200b',
    '\u200d',
    '\u200e',
  ],
  ...[
    '\u2028',
    '\u2029',
    '\u202e',
    '\u2060',
    '\u2066',
    '\u2800',
    '\u3164',
    '\ufe0f',
    '\ufeff',
    '\uffa0',
    '\ufff9',
    '\ud800',
    '\udfff',
  ],
  ...['\u{e0041}', '\u{e0100}', '\u{1d173}', '\r'],
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...hidden, '\n', '\t', 'a', 'é', '😀'), fc.string({ unit: 'binary' })))
  .map((parts) => parts.join(''));

describe('visible', () => {
  it.each(hidden.map((character) => [`U+${(character.codePointAt(0) ?? 0).toString(16)}`, character]))(
    '%s is made visible',
    (_, character) => {
      expect(hasInvisible(`a${character}b`)).toBe(true);
      expect(visible(`a${character}b`)).toBe(`a\\u{${(character.codePointAt(0) ?? 0).toString(16)}}b`);
    },
  );

  it('leaves nothing invisible, and what it wrote unchanged', () => {
    fc.assert(
      fc.property(text, (value) => {
        const shown = visible(value);
        expect(hasInvisible(shown)).toBe(false);
        expect(visible(shown)).toBe(shown);
        expect(shown === value).toBe(!hasInvisible(value) && !/[\n\t]/.test(value));
      }),
    );
  });

  it('keeps lines and tabs where it is asked to', () => {
    expect(visible('a\n\tb\r', { keepLines: true })).toBe('a\n\tb\\u{d}');
    expect(visible('a\n')).toBe('a\\u{a}');
    expect(hasInvisible('a\n\tb é 😀 日本語')).toBe(false);
  });
});

describe('excerpt', () => {
  it('cuts and makes visible, also where the cut halves a pair', () => {
    expect(excerpt('abc', 3)).toBe('abc');
    expect(excerpt('abcd', 3)).toBe('abc…');
    expect(excerpt('ab😀', 3)).toBe('ab\\u{d83d}…');
    expect(excerpt('a\u202e'.repeat(100)).length).toBeLessThan(400);
  });
});

describe('codePoints', () => {
  it('counts code points, not code units', () => {
    expect([codePoints(''), codePoints('aé'), codePoints('😀😀'), codePoints('\ud800')]).toEqual([
      0, 2, 2, 1,
    ]);
  });
});
