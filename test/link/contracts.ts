import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';

type Name =
  | 'job-create-request'
  | 'job-create-result'
  | 'job-list-result'
  | 'job-stream-event'
  | 'job-stream-ticket'
  | 'job'
  | 'problem';

const ajv = new Ajv2020({ strict: false, allErrors: true });
formats.default(ajv);
const base = 'https://openvibe.network/contracts/run/';
for (const name of [
  'job',
  'job-create-request',
  'job-create-result',
  'job-list-result',
  'job-stream-event',
  'job-stream-ticket',
  'problem',
]) {
  const file = new URL(`../fixtures/contracts/${name}.json`, import.meta.url);
  ajv.addSchema(JSON.parse(readFileSync(file, 'utf8')) as object);
}

/** Whether Run's own contract takes `value`. */
export function isOfContract(name: Name, value: unknown): boolean {
  return ajv.validate(`${base}${name}.json`, value);
}

/** Fails the test unless Run's own contract takes `value`. */
export function expectContract(name: Name, value: unknown): void {
  const valid = isOfContract(name, value);
  expect(valid ? [] : ajv.errors, `${name}: ${JSON.stringify(value).slice(0, 600)}`).toEqual([]);
}
