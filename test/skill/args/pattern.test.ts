import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compilePattern, maxPatternInput } from '../../../src/skill/args/pattern.ts';
import { translatePattern } from '../../../src/skill/args/translate.ts';

afterEach(() => vi.restoreAllMocks());

async function search(source: string): Promise<(text: string) => boolean> {
  const compiled = await compilePattern(source);
  if (!compiled.ok) throw new Error(compiled.message);
  return compiled.test;
}

// The search as ECMA-262 has it, code point by code point (22.2.7.2): V8's own also tries, for a pattern that
// can match nothing, the middle of a surrogate pair, where `\B` then holds.
function found(sticky: RegExp, text: string): boolean {
  for (let at = 0; at <= text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    sticky.lastIndex = at;
    if (sticky.test(text)) return true;
  }
  return false;
}

async function ruleOf(source: string): Promise<string> {
  const compiled = await compilePattern(source);
  return compiled.ok ? 'taken' : compiled.rule;
}

// Texts in which every construct below can make a difference.
const alphabet = [
  ...'ab0_-.^$]\\/{ ',
  ...['\n', '\r', '\t', '\v', '\f', '\b', '\0', '\u2028', '\u2029', '\u00a0', '\ufeff', '\u0085', '\u180e'],
  ...['é', 'ſ', 'K', 'Ω', '😀', '\u{10ffff}', '\ud800', '\udc00'],
];
const texts = fc.array(fc.constantFrom(...alphabet), { maxLength: 7 }).map((parts) => parts.join(''));

describe('what a pattern means', () => {
  const chars = [
    'a',
    'b',
    '0',
    '_',
    '-',
    ' ',
    'é',
    '😀',
    '/',
    '\\/',
    '\\.',
    '\\\\',
    '\\]',
    '\\^',
    '\\$',
    '\\{',
  ];
  const escapes = [
    '\\n',
    '\\r',
    '\\t',
    '\\v',
    '\\f',
    '\\0',
    '\\cJ',
    '\\x61',
    '\\u0061',
    '\\u{1F600}',
    '\\ud83d\\ude00',
  ];
  const sets = [
    '\\d',
    '\\D',
    '\\w',
    '\\W',
    '\\s',
    '\\S',
    '\\p{L}',
    '\\P{L}',
    '\\p{Lu}',
    '\\p{Script=Greek}',
    '\\p{gc=Nd}',
    '\\p{ASCII}',
    '\\P{ASCII}',
    '\\p{Any}',
  ];
  const inClass = fc.oneof(
    fc.constantFrom(...chars, ...escapes, ...sets, '\\b', '\\-', '.', '$', '(', '[', '[:'),
    fc.constantFrom('a-b', '0-9', '\\x00-\\x1f', 'a-\\u{10ffff}', '\\t-\\r', '\\0-\\b'),
  );
  const classes = fc
    .tuple(fc.constantFrom('', '^'), fc.array(inClass, { maxLength: 4 }), fc.constantFrom('', '-'))
    .map(([sign, parts, dash]) => `[${sign}${parts.join('')}${dash}]`);
  const assertions = fc.constantFrom('^', '$', '\\b', '\\B');
  const quantifiers = fc.constantFrom(
    '',
    '',
    '*',
    '+',
    '?',
    '*?',
    '+?',
    '??',
    '{2}',
    '{0}',
    '{1,}',
    '{0,2}',
    '{1,3}?',
  );

  const { pattern } = fc.letrec<{ pattern: string; term: string; group: string }>((tie) => ({
    pattern: fc
      .array(
        fc.array(tie('term'), { maxLength: 4 }).map((terms) => terms.join('')),
        { minLength: 1, maxLength: 3 },
      )
      .map((alternatives) => alternatives.join('|')),
    term: fc.oneof(
      { weight: 1, arbitrary: assertions },
      {
        weight: 6,
        arbitrary: fc
          .tuple(fc.oneof(fc.constantFrom('.', ...chars, ...escapes, ...sets), classes), quantifiers)
          .map((parts) => parts.join('')),
      },
      { weight: 2, arbitrary: fc.tuple(tie('group'), quantifiers).map((parts) => parts.join('')) },
    ),
    group: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'group' },
      fc.constant('(?:a)'),
      tie('pattern').map((inside) => `(?:${inside})`),
      tie('pattern').map((inside) => `(${inside})`),
    ),
  }));

  it('is what ECMAScript says, over generated patterns and texts', async () => {
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(pattern, fc.array(texts, { minLength: 6, maxLength: 6 }), async (source, samples) => {
        const compiled = await compilePattern(source);
        if (!compiled.ok) {
          expect(['pattern-size', 'pattern-syntax']).toContain(compiled.rule);
          return;
        }
        taken += 1;
        const native = new RegExp(source, 'uy');
        for (const text of samples) {
          expect({ source, text, matches: compiled.test(text) }).toEqual({
            source,
            text,
            matches: found(native, text),
          });
        }
      }),
      { numRuns: 2000 },
    );
    expect(taken).toBeGreaterThan(1500);
  });

  it.each([
    '.',
    '\\s',
    '\\S',
    '[\\s]',
    '[^\\s]',
    '[^\\S]',
    '\\d',
    '\\w',
    '\\W',
    '[\\W\\d]',
    '[]',
    '[^]',
    'a|',
    '\\cM',
    '^$',
    '\\b',
    '\\B',
    '(?<n>a)',
    '(?<ſ>a)',
    '[\\b]',
    '[a\\-z]',
    '[-a]',
    '[a-]',
    '[^-]',
    '[\\0-\\x20]',
    '\\p{Script=Latin}',
    '[^\\p{L}]',
    '\\u{61}',
    '[[:alpha:]',
    'Q\\$',
  ])('%s matches the same code points as in ECMAScript', async (source) => {
    const test = await search(source);
    const native = new RegExp(source, 'u');
    const differing: number[] = [];
    // Blocks to which Unicode adds no more letters, so that the age of the runtime's tables does not matter.
    for (const [from, to] of [
      [0, 0x52f],
      [0x1680, 0x169f],
      [0x2000, 0x206f],
      [0x3000, 0x303f],
      [0xfe00, 0xffff],
    ] as const) {
      for (let code = from; code <= to; code += 1) {
        const text = String.fromCodePoint(code);
        if (test(text) !== native.test(text)) differing.push(code);
      }
    }
    expect(differing).toEqual([]);
  });
});

describe('what is refused at load', () => {
  it.each([
    ['C78: lookahead', '^(?!x)\\w+$', 'pattern-lookaround'],
    ['C78: positive lookahead', 'a(?=b)', 'pattern-lookaround'],
    ['C78: lookbehind', '(?<=a)b', 'pattern-lookaround'],
    ['C78: negative lookbehind', '(?<!a)b', 'pattern-lookaround'],
    ['a numbered back-reference', '(a)\\1', 'pattern-back-reference'],
    ['a named back-reference', '(?<n>a)\\k<n>', 'pattern-back-reference'],
    ['C79: a count that compiles too large', 'a{1000}', 'pattern-size'],
    ['C79: counts of counts', '((((a{9}){9}){9}){9}){9}', 'pattern-size'],
    ['C79: counts of counts of nothing', '(((a{999}){999}){999}){0}', 'pattern-size'],
    ['a count beyond every number', `a{${'9'.repeat(190)}}`, 'pattern-size'],
    ['too many parts', '(?:a?b?){40}', 'pattern-size'],
    ['half of a pair', '\\ud83d', 'pattern-unsupported'],
    ['half of a pair in a class', '[\\ud800-\\udfff]', 'pattern-unsupported'],
    ['a property the engine has no table for', '\\p{Script_Extensions=Greek}', 'pattern-unsupported'],
    ["a property's long name", '\\p{Uppercase_Letter}', 'pattern-unsupported'],
    ['broken syntax', '(', 'pattern-syntax'],
    ['an escape that the flag u refuses', '\\-', 'pattern-syntax'],
    ["RE2's own syntax: an inline flag", '(?P<n>a)', 'pattern-syntax'],
    ["RE2's own syntax: a quote", '\\Q.\\E', 'pattern-syntax'],
    ["RE2's own syntax: the start of the text", '\\Aa', 'pattern-syntax'],
  ])('%s', async (_, source, rule) => {
    expect(await ruleOf(source)).toBe(rule);
  });

  it('flags in a group, whether or not this engine of the language knows them', async () => {
    expect(['pattern-unsupported', 'pattern-syntax']).toContain(await ruleOf('(?i:a)'));
  });

  it('C78: is told with the pattern, its invisible characters made visible', () => {
    const translated = translatePattern('(?=\u202ea)');
    expect(translated).toMatchObject({ ok: false });
    expect(!translated.ok && translated.message).toContain('"(?=\\u{202e}a)" looks around');
  });

  it('takes \\p{…} that the engine knows (C78: locally enforced)', async () => {
    const test = await search('^\\p{L}+$');
    expect([test('Ωmega'), test('a1')]).toEqual([true, false]);
  });

  it('takes any text as a pattern without a throw', async () => {
    const pieces = fc.constantFrom(
      ...'abk19^$.*+?()[]{}|/\\-:=!<>,pPuxc'.split(''),
      '(?',
      '(?<',
      '\\p{',
      '\\u{',
      '{2,',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(pieces, { maxLength: 14 }), async (parts) => {
        const compiled = await compilePattern(parts.join(''));
        if (compiled.ok) compiled.test('ab1\n');
      }),
      { numRuns: 3000 },
    );
  });
});

describe('C79: hostile patterns', () => {
  const ends = ['a', '!', '9', ',;'];

  it.each([
    ['^(a+)+$', [true, false, false, false]],
    ['^(a|a)*$', [true, false, false, false]],
    ['^([a-z]+)*\\d$', [false, false, true, false]],
    ['(.*)*,(.*)*;', [false, false, false, true]],
    ['(?:[ab]*a[ab]{9})+$', [true, false, false, false]],
  ])('%s answers right up to the longest text, and is never run natively', async (source, right) => {
    const executed = vi.spyOn(RegExp.prototype, 'exec');
    const tested = vi.spyOn(RegExp.prototype, 'test');
    const test = await search(source);
    for (const length of [26, 50, maxPatternInput]) {
      expect(ends.map((end) => test(end.padStart(length, 'a')))).toEqual(right);
    }
    const run = [...executed.mock.contexts, ...tested.mock.contexts].map((each) => (each as RegExp).source);
    expect(run).not.toContain(source);
  });
});
