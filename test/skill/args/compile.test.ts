import { describe, expect, it } from 'vitest';
import { type ArgsValidator, compileArgs } from '../../../src/skill/args/compile.ts';
import { parseArgsSchema } from '../../../src/skill/args/meta.ts';
import type { Json } from '../../../src/skill/json.ts';

async function validator(schema: Json): Promise<ArgsValidator> {
  const parsed = parseArgsSchema(schema);
  if (!parsed.ok) throw new Error(parsed.issues[0]?.message);
  const compiled = await compileArgs(parsed.schema);
  if (!compiled.ok) throw new Error(compiled.issues[0]?.message);
  return compiled.validator;
}

async function errors(schema: Json, value: Json): Promise<string[]> {
  const verdict = (await validator(schema)).validate(value);
  return verdict.ok ? [] : verdict.errors.map((error) => error.message);
}

const slug: Json = {
  type: 'object',
  properties: {
    title: { type: 'string', maxLength: 120 },
    shorten: { type: 'boolean' },
    count: { type: 'integer' },
    mode: { type: 'string', enum: ['a', 'b'] },
    url: { type: 'string', pattern: '^https://' },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['title'],
  additionalProperties: false,
};

describe('C89: an error says where, what was expected and what came, and never the value', () => {
  it.each<[Json, string[]]>([
    [{ title: 'Hi' }, []],
    [{}, ['/title: expected a value, it is required, received nothing.']],
    [{ title: 7 }, ['/title: expected a string, received a number.']],
    [{ title: null }, ['/title: expected a string, received null.']],
    [
      { title: 'x'.repeat(121) },
      ['/title: expected a string of at most 120 characters, received 121 characters.'],
    ],
    [{ title: '😀'.repeat(120) }, []],
    [
      { title: 'a', count: 1.5 },
      ['/count: expected a number without a fraction, received a number with a fraction.'],
    ],
    [{ title: 'a', count: '1' }, ['/count: expected a number without a fraction, received a string.']],
    [
      { title: 'a', mode: 'secret' },
      ['/mode: expected one of the 2 values of its enum, received a string that is not.'],
    ],
    [
      { title: 'a', url: 'secret' },
      ['/url: expected a string that matches its pattern, received a string that does not.'],
    ],
    [
      { title: 'a', tags: ['a', 1, [], 'b'] },
      ['/tags/1: expected a string, received a number.', '/tags/2: expected a string, received an array.'],
    ],
    [{ title: 'a', tags: { 0: 'a' } }, ['/tags: expected an array, received an object.']],
    [{ title: 'a', approved: true }, ['/approved: expected no such key, received a boolean.']],
    [{ title: 'a', toString: 'a' }, ['/toString: expected no such key, received a string.']],
    [
      { shorten: 'yes', 'a/b': 1 },
      [
        '/title: expected a value, it is required, received nothing.',
        '/shorten: expected a boolean, received a string.',
        '/a~1b: expected no such key, received a number.',
      ],
    ],
    [[], ['The arguments: expected an object, received an array.']],
    [null, ['The arguments: expected an object, received null.']],
  ])('%j', async (value, expected) => {
    expect(await errors(slug, value)).toEqual(expected);
  });

  it('gives path, expected and received beside the sentence', async () => {
    expect((await validator(slug)).validate({ title: 7 })).toEqual({
      ok: false,
      errors: [
        {
          path: '/title',
          expected: 'a string',
          received: 'a number',
          message: '/title: expected a string, received a number.',
        },
      ],
    });
  });

  it('tells at most 50 errors, and an unknown key by a short visible beginning', async () => {
    const tags = Array(30_000).fill(1);
    expect(await errors(slug, { title: 'a', tags })).toHaveLength(50);
    const [message = ''] = await errors(slug, { title: 'a', [`\u202e${'k'.repeat(5000)}`]: 1 });
    expect(message.length).toBeLessThan(160);
    expect(message).toContain('\\u{202e}');
  });
});

describe('validating', () => {
  it('C4, C11: gives back the same value, with nothing coerced and nothing filled in', async () => {
    const value = { title: ' Hi ' };
    expect((await validator(slug)).validate(value)).toEqual({ ok: true, value });
    expect(await errors(slug, { title: 'a', shorten: 'true' })).toHaveLength(1);
  });

  it('takes other keys where additionalProperties is left out, whatever is in them', async () => {
    expect(await errors({ type: 'object' }, { a: { b: [null] }, toString: 1 })).toEqual([]);
  });

  it('does not find a required key or a property on a prototype', async () => {
    const schema: Json = {
      type: 'object',
      properties: { valueOf: { type: 'string' } },
      required: ['toString', 'valueOf'],
    };
    expect(await errors(schema, {})).toHaveLength(2);
    expect(await errors(schema, { toString: 1, valueOf: 'a' })).toEqual([]);
    expect(await errors(schema, { toString: 1, valueOf: 1 })).toEqual([
      '/valueOf: expected a string, received a number.',
    ]);
  });

  it('refuses a number that is not finite, which only a caller can make', async () => {
    const schema: Json = { type: 'object', properties: { n: { type: 'number' } } };
    expect(await errors(schema, { n: Number.NaN })).toEqual([
      '/n: expected a number, received a number that is not finite.',
    ]);
  });

  it('C83: an enum holds by JSON equality, also for types it does not apply to', async () => {
    const schema: Json = {
      type: 'object',
      properties: {
        n: { type: 'integer', enum: [1, '2', 0, null] },
        list: { type: 'array', items: { type: 'number' }, enum: [1] },
      },
    };
    expect(
      await Promise.all(
        [1, 1.0, 0, -0, 2, '2', true, 3, null].map(async (n) => (await errors(schema, { n })).length),
      ),
    ).toEqual([0, 0, 0, 0, 1, 1, 1, 1, 1]);
    expect(await errors(schema, { list: [1] })).toEqual([
      '/list: expected one of the 1 values of its enum, received an array that is not.',
    ]);
  });

  it('ignores maxLength and pattern on what is no string', async () => {
    const schema: Json = {
      type: 'object',
      properties: {
        n: { type: 'number', maxLength: 0, pattern: '^b' },
        list: { type: 'array', maxLength: 0, items: { type: 'boolean', pattern: 'x' } },
      },
    };
    expect(await errors(schema, { n: 12, list: [true] })).toEqual([]);
  });
});

describe('C79: what a schema can cost', () => {
  it('refuses a pattern that compiles too large, at its place', async () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'string', pattern: 'a{200}' } } },
    } as const;
    const compiled = await compileArgs(schema, '/tools/1/args');
    expect(compiled).toMatchObject({
      ok: false,
      issues: [{ path: '/tools/1/args/properties/a/items/pattern', rule: 'pattern-size' }],
    });
  });

  it('refuses a text too long for its pattern, and says so', async () => {
    const schema: Json = { type: 'object', properties: { a: { type: 'string', pattern: 'a' } } };
    expect(await errors(schema, { a: 'a'.repeat(4096) })).toEqual([]);
    expect(await errors(schema, { a: 'a'.repeat(4097) })).toEqual([
      '/a: expected a string of at most 4096 characters, because a pattern is checked in no longer one, received 4097 characters.',
    ]);
  });

  it('compiles twenty patterns of 200 characters and an enum of 10000 values', async () => {
    const patterns = Array.from({ length: 20 }, (_, at) =>
      `^(?:[a-z]+|\\d{${at}}|x)*$`.padEnd(200, '|Abcdef'),
    );
    const strings = patterns.map((pattern, at) => [`p${at}`, { type: 'string', pattern }]);
    const values = Array.from({ length: 10_000 }, (_, at) => `value ${at}`);
    const schema: Json = {
      type: 'object',
      properties: { ...Object.fromEntries(strings), e: { type: 'string', enum: values } },
    };
    const { validate } = await validator(schema);
    expect([validate({ e: 'value 9999' }).ok, validate({ e: 'value 10000' }).ok]).toEqual([true, false]);
  });
});
