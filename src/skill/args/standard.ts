import type { JsonObject } from '../json.ts';
import type { ArgsValidator } from './compile.ts';
import { readArguments } from './read.ts';

/** One thing wrong with a value, as Standard Schema tells it. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly PropertyKey[];
}

/** A value that passed, or its issues. */
export type StandardResult =
  | { readonly value: JsonObject; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** A Standard Schema, version 1 (standardschema.dev), of a tool's arguments; stated here, so that nothing has to be installed. */
export interface StandardArgsSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: 'openvibe-skill-run';
    readonly validate: (value: unknown) => StandardResult;
    readonly types?: { readonly input: JsonObject; readonly output: JsonObject } | undefined;
  };
}

/** A validator as a Standard Schema. It takes objects only, never their JSON text. */
export function standardSchema(validator: ArgsValidator): StandardArgsSchema {
  const validate = (value: unknown): StandardResult => {
    if (typeof value === 'string')
      return { issues: [{ message: 'The arguments: expected an object, received a string.' }] };
    const read = readArguments(value);
    if (!read.ok) return { issues: [{ message: read.fault.message }] };
    const verdict = validator.validate(read.value);
    if (verdict.ok) return { value: verdict.value };
    return { issues: verdict.errors.map(({ message, path }) => ({ message, path: segments(path) })) };
  };
  return { '~standard': { version: 1, vendor: 'openvibe-skill-run', validate } };
}

function segments(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}
