import { expect, test } from 'vitest';
import { readStep } from '../../src/step/read.ts';
import { someStep } from '../support/step.ts';

const stored = (change: object = {}): unknown => JSON.parse(JSON.stringify({ ...someStep(), ...change }));

test('a record of this schema is read as it is', () => {
  const step = someStep();
  expect(readStep(JSON.parse(JSON.stringify(step)))).toEqual(step);
});

test('a record of schema 1 is brought up to date', () => {
  const { facts, edited, hold, ...old } = stored() as Record<string, unknown>;
  expect([facts, edited, hold]).toEqual([null, null, null]);
  expect(readStep({ ...old, schema: 1 })).toEqual({
    ...old,
    schema: 2,
    facts: null,
    edited: null,
    hold: null,
  });
});

test('an attempt of before nodes were recorded has none', () => {
  const attempt = { service: 'run', tier: 'own', key: 'k', job: null, state: 'open' };
  const nodes = ['node-1'];
  const { attempts } = readStep(stored({ attempts: [attempt, { ...attempt, nodes }] }));
  expect(attempts).toEqual([
    { ...attempt, nodes: [] },
    { ...attempt, nodes },
  ]);
});

test.each([0, 3, 99])('a record of schema %i is a typed error', (schema) => {
  expect(() => readStep(stored({ schema }))).toThrow(
    expect.objectContaining({ code: 'step_schema_unknown' }),
  );
});

test.each([
  null,
  [],
  'step',
  {},
  stored({ schema: '2' }),
  stored({ id: 'stp_1' }),
  stored({ state: 'toString' }),
  stored({ owner: null }),
  stored({ run: { arguments: [] } }),
  stored({ hold: { key: 'k', seconds: null } }),
  stored({ attempts: [null] }),
  stored({ attempts: [{ nodes: [1] }] }),
  stored({ attempts: [{ nodes: 'node-1' }] }),
])('what is no record is a typed error: %#', (value) => {
  expect(() => readStep(value)).toThrow(expect.objectContaining({ code: 'step_invalid' }));
});
