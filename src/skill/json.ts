import { forbiddenKeys, type JsonFault, scanJson } from './json-scan.ts';

export { forbiddenKeys, type JsonFault };

/**
 * What is refused in a tool's result and in a Run's answer: they are data that nothing is looked up by, so
 * `constructor` is a key like any other, and only a key that an assignment would not store is refused.
 */
export const forbiddenResultKeys: ReadonlySet<string> = new Set(['__proto__']);

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
/** A JSON object. */
export type JsonObject = { readonly [key: string]: Json };

/** The bounds that {@link parseJson} holds a text to. */
export interface JsonBounds {
  /** Longest text, in UTF-16 code units. */
  maxLength: number;
  /** Deepest nesting of arrays and objects, at most 500. Default 64. */
  maxDepth?: number;
  /** Keys that are refused at any depth. Default {@link forbiddenKeys}. */
  forbidden?: ReadonlySet<string>;
}

/** What became of a text: its value, or the first fault. */
export type JsonResult = { ok: true; value: Json } | { ok: false; fault: JsonFault };

/**
 * Reads untrusted JSON: bounded in length and depth, each key once, no forbidden key, numbers finite, strings
 * well-formed Unicode. Two readers of a text that passes cannot see different values.
 */
export function parseJson(text: string, bounds: JsonBounds): JsonResult {
  if (text.length > bounds.maxLength) {
    const message = `The text has ${text.length} characters; at most ${bounds.maxLength} are read.`;
    return { ok: false, fault: { rule: 'too-long', message } };
  }
  const fault = scanJson(text, bounds.maxDepth ?? 64, bounds.forbidden ?? forbiddenKeys);
  return fault === undefined ? { ok: true, value: JSON.parse(text) as Json } : { ok: false, fault };
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
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

/** Whether it is an object that is no array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
