import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseArgsSchema } from '../../../src/skill/args/meta.ts';
import type { Json } from '../../../src/skill/json.ts';

function issues(value: Json): string[] {
  const parsed = parseArgsSchema(value, '/tools/0/args');
  return parsed.ok
    ? []
    : parsed.issues.map((issue) => `${issue.path.slice('/tools/0/args'.length)} ${issue.rule}`);
}

const property = (schema: Json): Json => ({ type: 'object', properties: { p: schema } });

describe('what the subset takes', () => {
  it.each<[string, Json]>([
    ['the smallest schema', { type: 'object' }],
    [
      'every keyword',
      {
        type: 'object',
        description: '😀'.repeat(200),
        properties: {
          title: { type: 'string', description: 'd', enum: ['a', null], maxLength: 0, pattern: '^https://' },
          tags: { type: 'array', items: { type: 'string', maxLength: 3 }, enum: [1] },
          '': { type: 'integer', maxLength: 2, pattern: 'a' },
          toString: { type: 'number', enum: [1.5, -0] },
          'a/b~c': { type: 'boolean' },
        },
        required: ['title', 'elsewhere', 'hasOwnProperty'],
        additionalProperties: false,
      },
    ],
    ['the largest enum', property({ type: 'integer', enum: Array.from({ length: 20_000 }, (_, at) => at) })],
    ['the longest pattern', property({ type: 'string', pattern: 'a|'.repeat(100) })],
  ])('%s', (_, schema) => {
    expect(issues(schema)).toEqual([]);
    expect(parseArgsSchema(schema)).toEqual({ ok: true, schema });
  });
});

describe('what it refuses, each with its place', () => {
  it.each<[string, Json, string[]]>([
    ['null', null, [' not-object']],
    ['an array', [], [' not-object']],
    ['C72: no type', {}, [' missing-keyword']],
    ['another type', { type: 'string' }, ['/type type']],
    ['a keyword of the whole', { type: 'object', $defs: {} }, ['/$defs unknown-keyword']],
    [
      '$ref',
      property({ $ref: '#' }),
      ['/properties/p/$ref unknown-keyword', '/properties/p missing-keyword'],
    ],
    ['format', property({ type: 'string', format: 'uri' }), ['/properties/p/format unknown-keyword']],
    ['items on a string', property({ type: 'string', items: {} }), ['/properties/p/items unknown-keyword']],
    [
      'a nested object',
      property({ type: 'object', properties: {} }),
      ['/properties/p/type type', '/properties/p/properties unknown-keyword'],
    ],
    [
      'an array of arrays',
      property({ type: 'array', items: { type: 'array' } }),
      ['/properties/p/items/type type'],
    ],
    ['an array of anything', property({ type: 'array' }), ['/properties/p missing-keyword']],
    ['a list of types', property({ type: ['string', 'null'] }), ['/properties/p/type type']],
    ['a boolean schema', property(true), ['/properties/p not-object']],
    [
      'additionalProperties: true',
      { type: 'object', additionalProperties: true },
      ['/additionalProperties additional-properties'],
    ],
    [
      'additionalProperties: a schema',
      { type: 'object', additionalProperties: {} },
      ['/additionalProperties additional-properties'],
    ],
    ['a long description', { type: 'object', description: 'x'.repeat(201) }, ['/description description']],
    ['an empty enum', property({ type: 'string', enum: [] }), ['/properties/p/enum enum']],
    [
      'an enum too large',
      property({ type: 'string', enum: Array(20_001).fill('a') }),
      ['/properties/p/enum enum'],
    ],
    [
      'objects in an enum',
      property({ type: 'string', enum: ['a', {}, []] }),
      ['/properties/p/enum/1 enum', '/properties/p/enum/2 enum'],
    ],
    [
      'a negative maxLength',
      property({ type: 'string', maxLength: -1 }),
      ['/properties/p/maxLength max-length'],
    ],
    [
      'a fraction as maxLength',
      property({ type: 'string', maxLength: 1.5 }),
      ['/properties/p/maxLength max-length'],
    ],
    [
      'a pattern too long',
      property({ type: 'string', pattern: 'a'.repeat(201) }),
      ['/properties/p/pattern pattern'],
    ],
    [
      'C78: a lookahead',
      property({ type: 'string', pattern: '(?!x)' }),
      ['/properties/p/pattern pattern-lookaround'],
    ],
    [
      'a pattern in items',
      property({ type: 'array', items: { type: 'string', pattern: '(' } }),
      ['/properties/p/items/pattern pattern-syntax'],
    ],
    ['required: not an array', { type: 'object', required: 'a' }, ['/required required']],
    [
      'required: too many',
      { type: 'object', required: Array.from({ length: 21 }, (_, at) => `a${at}`) },
      ['/required required'],
    ],
    ['required: twice', { type: 'object', required: ['a', 'a'] }, ['/required required']],
    [
      'required: other names',
      { type: 'object', required: ['1a', 'a-b', '', 'a\n', 'x'.repeat(65), 7, 'constructor', '__proto__'] },
      ['0', '1', '2', '3', '4', '5', '6', '7'].map((at) => `/required/${at} required`),
    ],
    ['properties: an array', { type: 'object', properties: [] }, ['/properties properties']],
    [
      'properties: too many',
      {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [at, { type: 'string' }])),
      },
      ['/properties properties'],
    ],
    [
      'C79: more than twenty patterns',
      {
        type: 'object',
        properties: Object.fromEntries(
          Array.from({ length: 21 }, (_, at) => [
            at,
            at % 2 === 0
              ? { type: 'string', pattern: 'a' }
              : { type: 'array', items: { type: 'string', pattern: 'a' } },
          ]),
        ),
      },
      ['/properties pattern-count'],
    ],
    [
      'a property named constructor',
      { type: 'object', properties: { constructor: { type: 'string' } } },
      ['/properties/constructor property-name'],
    ],
    [
      'a property named __proto__',
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
      ['/properties/__proto__ property-name'],
    ],
    [
      'a name too long',
      { type: 'object', properties: { ['n'.repeat(257)]: { type: 'string' } } },
      [`/properties/${'n'.repeat(80)}… property-name`],
    ],
    [
      'many things at once',
      { type: 'object', x: 1, properties: { 'a/b': { type: 'strin', y: 1 } }, required: 1 },
      [
        '/x unknown-keyword',
        '/properties/a~1b/type type',
        '/properties/a~1b/y unknown-keyword',
        '/required required',
      ],
    ],
  ])('%s', (_, schema, expected) => {
    expect(issues(schema)).toEqual(expected);
  });

  it('tells at most 100 issues, and of a hostile keyword only a short visible beginning', () => {
    const parsed = parseArgsSchema({
      type: 'object',
      ...Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`\u202e${at}${'x'.repeat(9000)}`, 1])),
    });
    expect(parsed.ok).toBe(false);
    const found = parsed.ok ? [] : parsed.issues;
    expect(found).toHaveLength(100);
    expect(Math.max(...found.map(({ path, message }) => path.length + message.length))).toBeLessThan(400);
    expect(JSON.stringify(found)).not.toContain('\u202e');
  });

  it('takes any JSON value without a throw', () => {
    const schema = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom('object', 'string', 'array', '(', 'a', null, true, 0, -1, 1.5),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom(
            'type',
            'properties',
            'items',
            'enum',
            'pattern',
            'required',
            'maxLength',
            'toString',
          ),
          tie('value'),
          { maxKeys: 5 },
        ),
      ),
    })).value;
    fc.assert(
      fc.property(schema, (value) => {
        parseArgsSchema(value as Json);
      }),
      { numRuns: 2000 },
    );
  });
});
