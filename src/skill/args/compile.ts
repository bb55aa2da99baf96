import type { SkillIssue } from '../issue.ts';
import { isObject, type Json, type JsonObject } from '../json.ts';
import { member } from '../pointer.ts';
import { type ArgsError, createErrorList, describeType } from './args-error.ts';
import { type Check, compileProperty } from './property.ts';
import type { ArgsSchema } from './schema.ts';

/** Arguments that hold to the schema, unchanged, or what is wrong with them (at most 50 errors). */
export type ArgsVerdict =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly errors: readonly ArgsError[] };

/** Checks a tool's arguments. It changes nothing: no coercion, no defaults. */
export interface ArgsValidator {
  readonly schema: ArgsSchema;
  /** Takes plain JSON, as `readArguments` gives it. Never throws. */
  validate(value: Json): ArgsVerdict;
}

/** A validator, or the patterns that the linear engine does not take. */
export type CompiledArgs =
  | { readonly ok: true; readonly validator: ArgsValidator }
  | { readonly ok: false; readonly issues: readonly SkillIssue[] };

/**
 * Makes a validator of closures; no code is generated. Asynchronous, because the engine for patterns is
 * loaded on first need.
 *
 * @param schema as `parseArgsSchema` took it
 * @param path where the schema stands in its document; the issues' paths begin with it
 */
export async function compileArgs(schema: ArgsSchema, path = ''): Promise<CompiledArgs> {
  const issues: SkillIssue[] = [];
  const checks = new Map<string, Check>();
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    checks.set(name, await compileProperty(property, member(member(path, 'properties'), name), issues));
  }
  if (issues.length > 0) return { ok: false, issues };
  const required = schema.required ?? [];
  const isClosed = schema.additionalProperties === false;

  const validate = (value: Json): ArgsVerdict => {
    const list = createErrorList();
    if (!isObject(value)) {
      list.add('', 'an object', describeType(value));
      return { ok: false, errors: list.errors };
    }
    for (const name of required) {
      if (!Object.hasOwn(value, name)) list.add(member('', name), 'a value, it is required', 'nothing');
    }
    for (const [name, part] of Object.entries(value)) {
      const check = checks.get(name);
      if (check !== undefined) check(part, member('', name), list);
      else if (isClosed) list.add(member('', name), 'no such key', describeType(part));
    }
    return list.errors.length === 0 ? { ok: true, value } : { ok: false, errors: list.errors };
  };
  return { ok: true, validator: { schema, validate } };
}
