/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/** The bounds that {@link parseJson} holds a text to. */
export interface JsonBounds {
  /** Longest text, in UTF-16 code units. */
  maxLength: number;
  /** Deepest nesting of arrays and objects. Default 64. */
  maxDepth?: number;
}

/** A text that was not taken: the rule it broke and where. */
export interface JsonFault {
  rule:
    | 'too-long'
    | 'syntax'
    | 'too-deep'
    | 'duplicate-key'
    | 'forbidden-key'
    | 'not-finite'
    | 'not-well-formed';
  /** Position in UTF-16 code units, where it is known. */
  at?: number;
  /** A sentence; it repeats no part of the text but a key's name. */
  message: string;
}

/** What became of a text: its value, or the first fault. */
export type JsonResult = { ok: true; value: Json } | { ok: false; fault: JsonFault };

/** Keys that reach a prototype; no document, argument or result may hold one, at any depth. */
export const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * Reads untrusted JSON: bounded in length and depth, each key once, no key that reaches a prototype,
 * numbers finite, strings well-formed Unicode. Two readers of a text that passes cannot see different values.
 */
export function parseJson(text: string, bounds: JsonBounds): JsonResult {
  if (text.length > bounds.maxLength) {
    return fault('too-long', `The text has ${text.length} characters; at most ${bounds.maxLength} are read.`);
  }
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    return syntaxFault(error);
  }
  const found = scan(text, bounds.maxDepth ?? 64);
  return found === undefined ? { ok: true, value } : { ok: false, fault: found };
}

function fault(rule: JsonFault['rule'], message: string, at?: number): { ok: false; fault: JsonFault } {
  return { ok: false, fault: at === undefined ? { rule, message } : { rule, message, at } };
}

// The engine's message quotes the text; only its position is kept.
function syntaxFault(error: unknown): { ok: false; fault: JsonFault } {
  const position = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1];
  if (position === undefined) return fault('syntax', 'The text is not one complete JSON value.');
  return fault('syntax', `The text is not JSON: character ${position} was not expected.`, Number(position));
}

// Walks a text that JSON.parse accepted, so that only structure has to be looked at.
function scan(text: string, maxDepth: number): JsonFault | undefined {
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|[-0-9][-+.0-9eE]*/g;
  const keys: (Set<string> | undefined)[] = [];
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const at = match.index;
    const first = match[0].charAt(0);
    if (first === '{' || first === '[') {
      keys.push(first === '{' ? new Set() : undefined);
      if (keys.length > maxDepth) {
        return { rule: 'too-deep', at, message: `Nested deeper than ${maxDepth} levels.` };
      }
    } else if (first === '}' || first === ']') {
      keys.pop();
    } else if (first === '"') {
      const found = checkString(text, match[0], token.lastIndex, keys.at(-1));
      if (found !== undefined) return { ...found, at };
    } else if (!Number.isFinite(Number(match[0]))) {
      return {
        rule: 'not-finite',
        at,
        message: 'A number is too large to be read exactly as a finite number.',
      };
    }
  }
  return undefined;
}

function checkString(
  text: string,
  literal: string,
  end: number,
  keys: Set<string> | undefined,
): JsonFault | undefined {
  const value = literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
  if (!value.isWellFormed()) {
    return { rule: 'not-well-formed', message: 'A string holds half of a surrogate pair.' };
  }
  if (keys === undefined || !isFollowedByColon(text, end)) return undefined;
  if (forbiddenKeys.has(value)) {
    return { rule: 'forbidden-key', message: `The key "${value}" is refused everywhere.` };
  }
  if (keys.has(value)) {
    return { rule: 'duplicate-key', message: 'A key stands twice in one object.' };
  }
  keys.add(value);
  return undefined;
}

function isFollowedByColon(text: string, end: number): boolean {
  let at = end;
  while (' \t\n\r'.includes(text.charAt(at)) && at < text.length) at += 1;
  return text.charAt(at) === ':';
}

/** Compact JSON with the keys of every object in code unit order: equal values, equal text. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const object = value as JsonObject;
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] as Json)}`);
  return `{${members.join(',')}}`;
}

/** Freezes a JSON value through and through, and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
