import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

type Name =
  | 'job-create-request'
  | 'job-create-result'
  | 'job-list-result'
  | 'job-stream-event'
  | 'job-stream-ticket'
  | 'job'
  | 'problem';

const folder = new URL('../fixtures/contracts/', import.meta.url);
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
for (const file of readdirSync(folder)) {
  ajv.addSchema(JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as object);
}

/** Whether Run's own contract takes `value`. */
export function isOfContract(name: Name, value: unknown): boolean {
  return ajv.validate(`https://openvibe.network/contracts/run/${name}.json`, value);
}

/** Throws unless Run's own contract takes `value`. */
export function expectContract(name: Name, value: unknown): void {
  if (isOfContract(name, value)) return;
  throw new Error(`${name}: ${ajv.errorsText()}: ${JSON.stringify(value).slice(0, 600)}`);
}
