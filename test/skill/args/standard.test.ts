import type { StandardSchemaV1 } from '@standard-schema/spec';
import { expect, it } from 'vitest';
import { compileArgs } from '../../../src/skill/args/compile.ts';
import { standardSchema } from '../../../src/skill/args/standard.ts';
import type { JsonObject } from '../../../src/skill/json.ts';

async function schema(): Promise<StandardSchemaV1<JsonObject, JsonObject>> {
  const compiled = await compileArgs({
    type: 'object',
    properties: { 'a/b~1': { type: 'string' }, list: { type: 'array', items: { type: 'integer' } } },
    required: ['list'],
  });
  if (!compiled.ok) throw new Error('not compiled');
  return standardSchema(compiled.validator);
}

it('is a Standard Schema, version 1, of this library', async () => {
  expect((await schema())['~standard']).toMatchObject({ version: 1, vendor: 'openvibe-skill-run' });
});

it.each<[string, unknown, unknown]>([
  ['a value that holds', { list: [1] }, { value: { list: [1] } }],
  [
    'a value that does not, with the way to each fault',
    { 'a/b~1': 1, list: [0, 'x'] },
    {
      issues: [
        { path: ['a/b~1'], message: '/a~1b~01: expected a string, received a number.' },
        { path: ['list', '1'], message: '/list/1: expected a number without a fraction, received a string.' },
      ],
    },
  ],
  [
    'JSON text',
    '{"list":[1]}',
    { issues: [{ message: 'The arguments: expected an object, received a string.' }] },
  ],
  ['no JSON', { list: [1n] }, { issues: [{ message: expect.stringContaining('no JSON') }] }],
])('validates %s', async (_, value, expected) => {
  expect(await (await schema())['~standard'].validate(value)).toEqual(expected);
});
