import type { SkillIssue } from '../issue.ts';
import { forbiddenKeys, isObject, type Json } from '../json.ts';
import { member } from '../pointer.ts';
import { codePoints, excerpt } from '../text.ts';
import type { ArgsSchema } from './schema.ts';
import { translatePattern } from './translate.ts';

/** A schema of the subset, or everything that is wrong with it (at most 100 issues). */
export type ParsedArgs = { ok: true; schema: ArgsSchema } | { ok: false; issues: readonly SkillIssue[] };

const maxIssues = 100;
const maxProperties = 100;
const maxNameLength = 256;
const maxRequired = 20;
const maxEnum = 20_000;
const maxDescription = 200;
const maxPattern = 200;
// A pattern can take some milliseconds to compile.
const maxPatterns = 20;
const requiredName = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const scalarTypes: readonly Json[] = ['string', 'number', 'integer', 'boolean'];

type Report = (path: string, rule: string, message: string) => void;
type Rule = (value: Json, path: string, report: Report) => void;

/**
 * Holds a tool's `args` to the subset of `actor.skill@2`: no keyword, type or form beyond it.
 *
 * @param path where the schema stands in its document, as a JSON pointer; the issues' paths begin with it
 */
export function parseArgsSchema(value: Json, path = ''): ParsedArgs {
  const issues: SkillIssue[] = [];
  holdTo(objectRules, ['type'], value, path, (at, rule, message) => {
    if (issues.length < maxIssues) issues.push({ path: at, rule, message });
  });
  return issues.length === 0 ? { ok: true, schema: value as unknown as ArgsSchema } : { ok: false, issues };
}

function holdTo(
  rules: ReadonlyMap<string, Rule>,
  needed: readonly string[],
  value: Json,
  path: string,
  report: Report,
): void {
  if (!isObject(value)) {
    report(path, 'not-object', 'A schema is an object. Write it as { "type": … }.');
    return;
  }
  for (const [key, part] of Object.entries(value)) {
    const rule = rules.get(key);
    if (rule !== undefined) rule(part, member(path, key), report);
    else {
      report(
        member(path, key),
        'unknown-keyword',
        `"${excerpt(key)}" is not a keyword of the args subset here. Remove it.`,
      );
    }
  }
  for (const key of needed) {
    if (!Object.hasOwn(value, key)) report(path, 'missing-keyword', `"${key}" is missing. Add it.`);
  }
}

const descriptionRule: Rule = (value, path, report) => {
  if (typeof value !== 'string' || codePoints(value) > maxDescription) {
    report(path, 'description', `A description is a string of at most ${maxDescription} characters.`);
  }
};

const enumRule: Rule = (value, path, report) => {
  if (!Array.isArray(value) || value.length === 0 || value.length > maxEnum) {
    return report(path, 'enum', `enum is an array of 1 to ${maxEnum} values.`);
  }
  value.forEach((entry: Json, at) => {
    if (!isScalar(entry)) {
      report(member(path, at), 'enum', 'enum lists strings, numbers, booleans and null only.');
    }
  });
};

const maxLengthRule: Rule = (value, path, report) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    report(path, 'max-length', 'maxLength is a whole number that is not negative.');
  }
};

const patternRule: Rule = (value, path, report) => {
  if (typeof value !== 'string' || codePoints(value) > maxPattern) {
    return report(path, 'pattern', `A pattern is a string of at most ${maxPattern} characters.`);
  }
  const translated = translatePattern(value);
  if (!translated.ok) report(path, translated.rule, translated.message);
};

const keywordRules: [string, Rule][] = [
  ['description', descriptionRule],
  ['enum', enumRule],
  ['maxLength', maxLengthRule],
  ['pattern', patternRule],
];

const scalarRules = new Map<string, Rule>([
  ...keywordRules,
  [
    'type',
    (value, path, report) => {
      if (!scalarTypes.includes(value)) {
        report(path, 'type', 'The type here is one of string, number, integer and boolean.');
      }
    },
  ],
]);

const arrayRules = new Map<string, Rule>([
  ...keywordRules,
  ['type', () => undefined],
  ['items', (value, path, report) => holdTo(scalarRules, ['type'], value, path, report)],
]);

const propertyRule: Rule = (value, path, report) => {
  const isArray = isObject(value) && Object.hasOwn(value, 'type') && value.type === 'array';
  if (isArray) holdTo(arrayRules, ['items'], value, path, report);
  else holdTo(scalarRules, ['type'], value, path, report);
};

const objectRules = new Map<string, Rule>([
  ['description', descriptionRule],
  [
    'type',
    (value, path, report) => {
      if (value !== 'object') report(path, 'type', 'The args of a tool are of type "object".');
    },
  ],
  [
    'properties',
    (value, path, report) => {
      if (!isObject(value)) return report(path, 'properties', 'properties is an object of schemas.');
      const entries = Object.entries(value);
      if (entries.length > maxProperties) {
        return report(path, 'properties', `At most ${maxProperties} properties are taken.`);
      }
      if (entries.filter(([, property]) => hasPattern(property)).length > maxPatterns) {
        report(path, 'pattern-count', `At most ${maxPatterns} properties have a pattern.`);
      }
      for (const [name, property] of entries) {
        if (forbiddenKeys.has(name) || name.length > maxNameLength) {
          const rule = `A property is not named ${[...forbiddenKeys].join(', ')} and has at most ${maxNameLength} characters.`;
          report(member(path, name), 'property-name', `${rule} Rename it.`);
        }
        propertyRule(property, member(path, name), report);
      }
    },
  ],
  [
    'required',
    (value, path, report) => {
      if (!Array.isArray(value) || value.length > maxRequired) {
        return report(path, 'required', `required is an array of at most ${maxRequired} names.`);
      }
      value.forEach((name: Json, at) => {
        if (typeof name !== 'string' || !requiredName.test(name) || forbiddenKeys.has(name)) {
          const rule = `A required name matches ${requiredName.source} and is not ${[...forbiddenKeys].join(', ')}.`;
          report(member(path, at), 'required', rule);
        }
      });
      if (new Set(value).size < value.length) report(path, 'required', 'A required name stands twice.');
    },
  ],
  [
    'additionalProperties',
    (value, path, report) => {
      if (value !== false)
        report(path, 'additional-properties', 'additionalProperties is false or left out.');
    },
  ],
]);

function hasPattern(property: Json): boolean {
  if (!isObject(property)) return false;
  const { pattern, items = null } = property;
  return pattern !== undefined || hasPattern(items);
}

function isScalar(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return value === null || typeof value === 'string' || typeof value === 'boolean';
}
