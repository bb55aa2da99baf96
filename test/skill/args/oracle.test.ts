import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { compileArgs } from '../../../src/skill/args/compile.ts';
import { parseArgsSchema } from '../../../src/skill/args/meta.ts';
import type { ArgsProperty, ArgsSchema } from '../../../src/skill/args/schema.ts';
import type { Json, JsonObject } from '../../../src/skill/json.ts';

const names = ['title', 'url', 'a/b', '', 'toString', 'valueOf', 'hasOwnProperty', '0', '~', 'é'];
const scalars = fc.constantFrom<Json>(
  '',
  'a',
  'abc',
  '😀😀',
  'A1',
  '1',
  0,
  -0,
  1,
  -1,
  1.5,
  1e300,
  2 ** 53,
  true,
  false,
  null,
);
const patterns = ['^a', 'c$', '^.{1,2}$', '^[^\\s]+$', '^\\p{Lu}\\d?$', '^$', '(a|b)+c?', '\\bab', '^\\S*$'];

const keywords = {
  enum: fc.array(scalars, { minLength: 1, maxLength: 5 }),
  maxLength: fc.nat({ max: 4 }),
  pattern: fc.constantFrom(...patterns),
  description: fc.constantFrom('', 'What it is.'),
};
const scalarProperty = fc.record(
  { type: fc.constantFrom('string', 'string', 'number', 'integer', 'boolean'), ...keywords },
  { requiredKeys: ['type'] },
);
const arrayProperty = fc.record(
  { type: fc.constant('array'), items: scalarProperty, ...keywords },
  { requiredKeys: ['type', 'items'] },
);
const schemas = fc.record(
  {
    type: fc.constant('object'),
    properties: fc.dictionary(
      fc.constantFrom(...names),
      fc.oneof(scalarProperty, scalarProperty, arrayProperty),
      { maxKeys: 5 },
    ),
    required: fc.uniqueArray(fc.constantFrom('title', 'url', 'toString', 'valueOf', 'other'), {
      maxLength: 3,
    }),
    additionalProperties: fc.constant(false),
  },
  { requiredKeys: ['type'] },
) as fc.Arbitrary<ArgsSchema>;

type Pick = <T>(from: readonly T[]) => T;

/** A value that mostly holds to the property; where it does not, it misses by one thing. */
function near(property: ArgsProperty, pick: Pick): Json {
  const other: readonly Json[] = [
    '',
    'x',
    '1',
    0,
    -0,
    1,
    1.5,
    true,
    null,
    [],
    [1],
    {},
    { a: [null] },
    { toString: 'a' },
  ];
  const choice = pick(['fit', 'fit', 'fit', 'enum', 'other']);
  if (choice === 'other') return pick(other);
  if (choice === 'enum' && property.enum !== undefined) return pick(property.enum);
  if (property.type === 'array') {
    return Array.from({ length: pick([0, 1, 2, 3]) }, () => near(property.items, pick));
  }
  if (property.type === 'boolean') return pick([true, false]);
  if (property.type !== 'string')
    return pick([0, -0, 1, 1.0, -7, 1e300, property.type === 'number' ? 1.5 : 2 ** 53]);
  const max = property.maxLength ?? 3;
  return pick([
    '',
    'a',
    'ab',
    'abc',
    'A1',
    'É',
    'a\n',
    'a\u2028',
    '\u00a0',
    'a'.repeat(max),
    '😀'.repeat(max),
    '😀'.repeat(max + 1),
    'a'.repeat(max + 1),
  ]);
}

function nearlyValid(schema: ArgsSchema, pick: Pick): JsonObject {
  const entries = Object.entries(schema.properties ?? {}).map(
    ([name, property]) => [name, near(property, pick)] as const,
  );
  for (const name of schema.required ?? []) {
    if (!entries.some(([present]) => present === name)) entries.push([name, pick(['a', null])]);
  }
  const change = pick(['none', 'none', 'none', 'drop', 'add']);
  if (change === 'drop') entries.splice(0, 1);
  if (change === 'add') entries.push([pick([...names, 'isPrototypeOf', 'extra']), pick(['a', 1, null, {}])]);
  return Object.fromEntries(entries);
}

it('C78, C83: the verdict is the one of ajv, over generated schemas and nearly valid values', async () => {
  const ajv = new Ajv({ strict: false, ownProperties: true, validateSchema: false });
  let valid = 0;
  let invalid = 0;
  await fc.assert(
    fc.asyncProperty(schemas, fc.infiniteStream(fc.nat()), async (schema, stream) => {
      const pick: Pick = (from) => from[(stream.next().value as number) % from.length] as never;
      const parsed = parseArgsSchema(schema as unknown as Json);
      expect(parsed).toEqual({ ok: true, schema });
      const compiled = await compileArgs(schema);
      if (!compiled.ok) throw new Error(compiled.issues[0]?.message);
      const oracle = ajv.compile(schema);
      for (let round = 0; round < 40; round += 1) {
        const value = nearlyValid(schema, pick);
        const verdict = compiled.validator.validate(value);
        if (verdict.ok) valid += 1;
        else invalid += 1;
        expect({ schema, value, ok: verdict.ok }).toEqual({ schema, value, ok: oracle(value) });
      }
      ajv.removeSchema(schema);
    }),
    { numRuns: 600 },
  );
  expect(Math.min(valid, invalid)).toBeGreaterThan(2000);
});
