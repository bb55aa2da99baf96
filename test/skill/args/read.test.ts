import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readArguments } from '../../../src/skill/args/read.ts';

function outcome(raw: unknown): unknown {
  const read = readArguments(raw);
  return read.ok
    ? read.value
    : read.fault.at === undefined
      ? read.fault.rule
      : `${read.fault.rule} ${read.fault.at}`;
}

describe("C86: a model's text", () => {
  it.each<[string, unknown]>([
    ['', {}],
    [' \t\r\n', {}],
    ['{}', {}],
    [' {"title":"a"}\n', { title: 'a' }],
    ['{}""', 'syntax 2'],
    ['{"title":"a"}}', 'syntax 13'],
    ['{"title":"a"} {"title":"b"}', 'syntax 14'],
    ['{"title":"a', 'syntax 11'],
    ['{"title":"a"', 'syntax 12'],
    ['{"title":', 'syntax 9'],
    ['{', 'syntax 1'],
    ['null', 'not-object'],
    ['[]', 'not-object'],
    ['[{}]', 'not-object'],
    ['5', 'not-object'],
    ['true', 'not-object'],
    ['"x"', 'not-object'],
    ['"{}"', 'not-object'],
    ['{"title":"C:\\path"}', 'syntax 12'],
    ['{"title":"position 99","x":\\}', 'syntax 27'],
    ['{"title":"a","title":"b"}', 'duplicate-key 13'],
    ['{"title":"a","t\\u0069tle":"b"}', 'duplicate-key 13'],
    ['{"title":NaN}', 'syntax 9'],
    ['{"title":-Infinity}', 'syntax 9'],
    ['{"title":1e999}', 'not-finite 9'],
    ['{"title":undefined}', 'syntax 9'],
    ["{'title':1}", 'syntax 1'],
    ['{title:1}', 'syntax 1'],
    ['{"title":1,}', 'syntax 11'],
    ['{"title":"a\nb"}', 'syntax 11'],
    ['{"title":"\\ud800"}', 'not-well-formed 9'],
    ['```json\n{}\n```', 'syntax 0'],
    ['\ufeff{}', 'syntax 0'],
    ['\u00a0', 'syntax 0'],
    ['{"__proto__":{}}', 'forbidden-key 1'],
    ['{"a":{"constructor":1}}', 'forbidden-key 6'],
  ])('%j', (raw, expected) => {
    expect(outcome(raw)).toEqual(expected);
  });

  it('takes 65536 bytes of UTF-8 and no more', () => {
    expect(outcome(`{"a":"${'x'.repeat(65_528)}"}`)).toEqual({ a: 'x'.repeat(65_528) });
    expect(outcome(`{"a":"${'x'.repeat(65_529)}"}`)).toBe('too-long');
    expect(outcome(`{"a":"${'é'.repeat(32_765)}"}`)).toBe('too-long');
    expect(outcome(' '.repeat(65_537))).toBe('too-long');
  });

  it('takes 64 levels and no more', () => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(outcome(nested(64))).toEqual(JSON.parse(nested(64)));
    expect(outcome(nested(65))).toBe('too-deep 320');
  });

  it('tells the position and the rule, and repeats nothing of the text', () => {
    const read = readArguments('{"secret":"hunter2\\p"}');
    expect(read).toEqual({
      ok: false,
      fault: {
        rule: 'syntax',
        at: 18,
        message: 'The text is not JSON: the character at position 18 was not expected.',
      },
    });
  });
});

describe('C86: a value that a harness made', () => {
  class Made {
    title = 'a';
  }
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const once: unknown[] = [];
  const doubled = Array.from({ length: 40 }).reduce<unknown>((inside) => [inside, inside], once);
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  it.each<[string, unknown, unknown]>([
    ['a plain object', { a: [1, 'x', null, { b: true }] }, { a: [1, 'x', null, { b: true }] }],
    ['an object without a prototype', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['a member that is undefined', { a: 1, b: undefined }, { a: 1 }],
    ['-0, as JSON writes it', { a: -0 }, { a: 0 }],
    ['a symbol key', { a: 1, [Symbol('s')]: 2 }, { a: 1 }],
    [
      'a getter, read once',
      {
        get a() {
          return 1;
        },
      },
      { a: 1 },
    ],
    ['undefined', undefined, 'not-json'],
    ['null', null, 'not-object'],
    ['an array', [1], 'not-object'],
    ['a number', 5, 'not-object'],
    ['NaN', { a: Number.NaN }, 'not-finite'],
    ['Infinity', { a: [Number.POSITIVE_INFINITY] }, 'not-finite'],
    ['a bigint', { a: 1n }, 'not-json'],
    ['a function', { a: () => 1 }, 'not-json'],
    ['a symbol', { a: Symbol('s') }, 'not-json'],
    ['undefined in an array', { a: [undefined] }, 'not-json'],
    ['a hole', { a: new Array(1) }, 'not-json'],
    ['toJSON', { toJSON: () => ({ title: 'other' }) }, 'not-json'],
    ['a date', { a: new Date(0) }, 'not-json'],
    ['a boxed number', { a: Object(Number.NaN) }, 'not-json'],
    ['a map', { a: new Map([['b', 1]]) }, 'not-json'],
    ["a class's instance", new Made(), 'not-json'],
    ['an object that holds itself', cyclic, 'too-deep'],
    ['an array that doubles forty times', { a: doubled }, 'too-long'],
    [
      'an array of endless length',
      { a: new Proxy([], { get: (_, key) => (key === 'length' ? 1e15 : 1) }) },
      'too-long',
    ],
    [
      'a getter that throws',
      {
        get a() {
          throw new Error('x');
        },
      },
      'not-json',
    ],
    ['a revoked proxy', { a: revoked.proxy }, 'not-json'],
    ['a forbidden key', JSON.parse('{"a":{"__proto__":1}}'), 'forbidden-key'],
    ['half of a pair', { a: '\ud800' }, 'not-well-formed'],
    ['a string too long', { a: 'x'.repeat(70_000) }, 'too-long'],
    ['a string too long in UTF-8', { a: 'é'.repeat(40_000) }, 'too-long'],
  ])('%s', (_, raw, expected) => {
    expect(outcome(raw)).toEqual(expected);
  });

  it('is copied, so that what the caller does to it later does not matter', () => {
    const given = { a: { b: 1 } };
    const read = readArguments(given);
    given.a.b = 2;
    expect(read).toEqual({ ok: true, value: { a: { b: 1 } } });
  });

  it('reads the same from an object as from its text, but for the position of a fault', () => {
    const valueOrRule = (raw: unknown): unknown => {
      const read = readArguments(raw);
      return read.ok ? read.value : read.fault.rule;
    };
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), (value) => {
        expect(valueOrRule(value)).toEqual(valueOrRule(JSON.stringify(value)));
      }),
    );
  });
});
