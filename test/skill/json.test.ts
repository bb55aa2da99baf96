import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  deepFreeze,
  forbiddenResultKeys,
  type Json,
  parseJson,
} from '../../src/skill/json.ts';

const bounds = { maxLength: 4 * 1024 * 1024 };

function ruleOf(text: string, maxDepth?: number): string {
  const parsed = parseJson(text, maxDepth === undefined ? bounds : { ...bounds, maxDepth });
  return parsed.ok ? 'taken' : `${parsed.fault.rule} ${parsed.fault.at ?? '-'}`;
}

describe('parseJson', () => {
  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const parsed = parseJson(text, bounds);
        // fc.json may make a key twice, or one that is refused.
        if (parsed.ok) expect(parsed.value).toEqual(JSON.parse(text));
        else expect(['duplicate-key', 'forbidden-key', 'not-well-formed']).toContain(parsed.fault.rule);
      }),
    );
  });

  it('calls a syntax fault exactly what JSON.parse calls one, over broken texts', () => {
    const token = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        '"a"',
        '"\\u0061"',
        '"\\u12"',
        '"\\x"',
        'true',
        'nul',
        'null',
        ' ',
        '\n',
        '\u00a0',
        '\t',
      ],
      ...[
        '0',
        '-',
        '1',
        '.',
        'e',
        'E+',
        '-0',
        '01',
        '1.5e-3',
        '/',
        "'",
        '\u0000',
        '\ufeff',
        '"b":',
        '{"c":1}',
        '[1]',
      ],
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 9 }), (tokens) => {
        const text = tokens.join('');
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        const parsed = parseJson(text, bounds);
        if (isJson)
          expect(parsed.ok || parsed.fault.rule).toSatisfy(
            (rule) => rule === true || rule === 'duplicate-key',
          );
        else expect(parsed.ok).toBe(false);
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ['', 'syntax 0'],
    ['[1, 2', 'syntax 5'],
    ['[1 2]', 'syntax 3'],
    ['{"a" 1}', 'syntax 5'],
    ['{"a":1 "b":2}', 'syntax 7'],
    ['{1:2}', 'syntax 1'],
    ['[,]', 'syntax 1'],
    ['01', 'syntax 1'],
    ['1.', 'syntax 1'],
    ['+1', 'syntax 0'],
    ['tru', 'syntax 0'],
    ['"\\x41"', 'syntax 1'],
    ['"\u0001"', 'syntax 1'],
    ['"\u001f"', 'syntax 1'],
    ['"abc', 'syntax 4'],
    ['{"a":1,"a":2}', 'duplicate-key 7'],
    ['{"":1,"":2}', 'duplicate-key 6'],
    ['{"a":1,"\\u0061":2}', 'duplicate-key 7'],
    ['[{"a":1},{"a":1}]', 'taken'],
    ['{"a":{"a":"a"}}', 'taken'],
    ['{"__proto__":1}', 'forbidden-key 1'],
    ['{"\\u005f_proto__":1}', 'forbidden-key 1'],
    ['[{"constructor":1}]', 'forbidden-key 2'],
    ['{"prototype":1}', 'forbidden-key 1'],
    ['["__proto__"]', 'taken'],
    ['1e400', 'not-finite 0'],
    ['[-1e400]', 'not-finite 1'],
    ['1e-400', 'taken'],
    ['"\\ud83d\\ude00"', 'taken'],
    ['"\\ud83d"', 'not-well-formed 0'],
    ['{"\\ude00":1}', 'not-well-formed 1'],
    ['"\ud83d"', 'not-well-formed -'],
  ])('%j: %s', (text, expected) => {
    expect(ruleOf(text)).toBe(expected);
  });

  it('refuses the keys it is told to, and no others', () => {
    const ofResult = (text: string) => parseJson(text, { ...bounds, forbidden: forbiddenResultKeys });
    const taken = ofResult('{"constructor":"Ferrari","a":[{"prototype":{"constructor":1}}]}');
    expect(taken).toMatchObject({ ok: true, value: { constructor: 'Ferrari' } });
    expect(taken.ok && Object.getPrototypeOf(taken.value)).toBe(Object.prototype);
    for (const text of ['{"__proto__":1}', '[{"a":{"\\u005f_proto__":{}}}]']) {
      expect(ofResult(text)).toMatchObject({ ok: false, fault: { rule: 'forbidden-key' } });
    }
  });

  it('bounds the depth and the length', () => {
    expect(ruleOf('[[[1]]]', 3)).toBe('taken');
    expect(ruleOf('[[[1]]]', 2)).toBe('too-deep 2');
    expect(ruleOf('['.repeat(64) + ']'.repeat(64))).toBe('taken');
    expect(ruleOf('['.repeat(4_000_000))).toBe('too-deep 64');
    expect(parseJson('[1]', { maxLength: 2 })).toMatchObject({ ok: false, fault: { rule: 'too-long' } });
  });

  it('repeats nothing of the text in a message', () => {
    for (const text of ['{"secret":1,"secret":2}', '{"secret" secret}', '"secret', '{"secret":"\\ud800"}']) {
      const parsed = parseJson(text, bounds);
      expect(parsed.ok || parsed.fault.message).not.toContain('secret');
    }
  });

  // Each would overflow the stack or take quadratic time in a reader that backtracks or looks ahead.
  it.each([
    ['a string of escapes', `"${'\\n'.repeat(2_000_000)}"`],
    ['a key of escapes', `{"${'\\u0061'.repeat(690_000)}":1}`],
    ['strings before white space', `[${`"a"${' '.repeat(2000)},`.repeat(2000)}1]`],
    ['white space', `${' '.repeat(4_000_000)}1`],
    ['a long number', '1'.repeat(300)],
    ['many numbers', `[${'1.5e3,'.repeat(690_000)}1]`],
    ['many keys', `{${Array.from({ length: 300_000 }, (_, at) => `"k${at}":1`).join(',')}}`],
    ['many objects', `[${'{"a":1},'.repeat(500_000)}1]`],
  ])('takes 4 MiB of %s', (_, text) => {
    expect(ruleOf(text)).toBe('taken');
  });

  it.each([
    ['an open string', `"${'\\\\'.repeat(2_000_000)}`],
    ['a number without an end', `[${'1'.repeat(4_000_000)}.`],
    ['quotes', '"'.repeat(4_000_000)],
  ])('refuses 4 MiB of %s', (_, text) => {
    expect(ruleOf(text)).toMatch(/^(syntax|not-finite) /);
  });
});

describe('canonicalJson', () => {
  it('is one text for one value, whatever the order of its keys', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value as Json);
        expect(canonicalJson(reversed(value as Json))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it('orders keys by code units and tells different values apart', () => {
    expect(canonicalJson({ b: 1, a: [{ d: null, c: '\n' }], Z: -0, '\uffff': 1, '😀': 2, 10: 3, 9: 4 })).toBe(
      '{"10":3,"9":4,"Z":0,"a":[{"c":"\\n","d":null}],"b":1,"😀":2,"\uffff":1}',
    );
    expect(canonicalJson({ a: '1' })).not.toBe(canonicalJson({ a: 1 }));
  });
});

function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, part]) => [key, reversed(part)]),
  );
}

describe('deepFreeze', () => {
  it('freezes every part, also below one that was frozen before', () => {
    const value = deepFreeze(Object.freeze({ a: [{ b: 1 }] }));
    expect([value, value.a, value.a[0]].every(Object.isFrozen)).toBe(true);
  });
});
