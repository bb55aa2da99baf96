import type { SkillIssue } from '../issue.ts';
import type { Json } from '../json.ts';
import { member } from '../pointer.ts';
import { codePoints } from '../text.ts';
import { describeType, type ErrorList } from './args-error.ts';
import { compilePattern, maxPatternInput } from './pattern.ts';
import type { ArgsProperty, ScalarType } from './schema.ts';

/** Adds to `list` what is wrong with a value that stands at `path`. */
export type Check = (value: Json, path: string, list: ErrorList) => void;

const types: Record<ScalarType | 'array', { name: string; holds: (value: Json) => boolean }> = {
  string: { name: 'a string', holds: (value) => typeof value === 'string' },
  number: { name: 'a number', holds: (value) => Number.isFinite(value) },
  integer: { name: 'a number without a fraction', holds: (value) => Number.isInteger(value) },
  boolean: { name: 'a boolean', holds: (value) => typeof value === 'boolean' },
  array: { name: 'an array', holds: (value) => Array.isArray(value) },
};

/**
 * The check of one property, made of closures.
 *
 * @param path where the property's schema stands
 * @param issues takes what could not be compiled
 */
export async function compileProperty(
  property: ArgsProperty,
  path: string,
  issues: SkillIssue[],
): Promise<Check> {
  const { name, holds } = types[property.type];
  const checks: Check[] = [];
  if (property.enum !== undefined) checks.push(enumCheck(property.enum));
  if (property.type === 'array') {
    checks.push(itemsCheck(await compileProperty(property.items, member(path, 'items'), issues)));
  }
  // On every other type these two keywords hold always.
  if (property.type === 'string') {
    if (property.maxLength !== undefined) checks.push(maxLengthCheck(property.maxLength));
    if (property.pattern !== undefined) {
      const compiled = await compilePattern(property.pattern);
      if (compiled.ok) checks.push(patternCheck(compiled.test));
      else issues.push({ path: member(path, 'pattern'), rule: compiled.rule, message: compiled.message });
    }
  }
  return (value, at, list) => {
    if (holds(value)) for (const check of checks) check(value, at, list);
    else list.add(at, name, describeType(value));
  };
}

function enumCheck(values: readonly Json[]): Check {
  const allowed = new Set(values);
  const expected = `one of the ${allowed.size} values of its enum`;
  return (value, path, list) => {
    if (!allowed.has(value)) list.add(path, expected, `${describeType(value)} that is not`);
  };
}

function maxLengthCheck(max: number): Check {
  return (value, path, list) => {
    // A string never has more code points than code units, so that most need no counting.
    const text = value as string;
    if (text.length <= max) return;
    const length = codePoints(text);
    if (length > max) list.add(path, `a string of at most ${max} characters`, `${length} characters`);
  };
}

function patternCheck(test: (text: string) => boolean): Check {
  return (value, path, list) => {
    const text = value as string;
    if (text.length > maxPatternInput) {
      const expected = `a string of at most ${maxPatternInput} characters, because a pattern is checked in no longer one`;
      list.add(path, expected, `${text.length} characters`);
    } else if (!test(text)) {
      list.add(path, 'a string that matches its pattern', 'a string that does not');
    }
  };
}

function itemsCheck(check: Check): Check {
  return (value, path, list) => {
    const items = value as readonly Json[];
    for (let at = 0; at < items.length && !list.full; at += 1) {
      check(items[at] as Json, member(path, at), list);
    }
  };
}
