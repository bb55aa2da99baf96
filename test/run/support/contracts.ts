import { readdirSync, readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

const folder = new URL('../../fixtures/contracts/', import.meta.url);
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
for (const file of readdirSync(folder)) {
  ajv.addSchema(JSON.parse(readFileSync(new URL(file, folder), 'utf8')));
}

/** Throws unless `value` meets one of the platform's own contracts. */
export function meetsContract(name: string, value: unknown): void {
  const validate = ajv.getSchema(`https://openvibe.network/contracts/run/${name}.json`);
  if (validate === undefined) throw new Error(`No contract ${name}.`);
  if (validate(value) !== true) throw new Error(`${name}: ${ajv.errorsText(validate.errors)}`);
}
