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
  /** A sentence; it repeats no part of the text but a forbidden key's name. */
  message: string;
}

/** Keys that reach a prototype; no document, listing or argument may hold one, at any depth. */
export const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const numberAt = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const escapeAt = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;
const wordAt = /true|false|null/y;

/**
 * The first fault of a text as JSON (RFC 8259), or `undefined`. One pass, no value is built: the engine's
 * own parser tells no position that can be trusted, because its message quotes the text.
 */
export function scanJson(
  text: string,
  maxDepth: number,
  forbidden: ReadonlySet<string>,
): JsonFault | undefined {
  if (!text.isWellFormed())
    return { rule: 'not-well-formed', message: 'The text holds half of a surrogate pair.' };
  let at = 0;

  const unexpected = (): JsonFault =>
    at < text.length
      ? {
          rule: 'syntax',
          at,
          message: `The text is not JSON: the character at position ${at} was not expected.`,
        }
      : {
          rule: 'syntax',
          at,
          message: `The text is not JSON: it ends at position ${at}, before its value does.`,
        };

  const peek = (): string => {
    while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
    return text.charAt(at);
  };

  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };

  const scanValue = (depth: number): JsonFault | undefined => {
    const first = peek();
    if (first === '{' || first === '[') {
      if (depth === maxDepth)
        return { rule: 'too-deep', at, message: `Nested deeper than ${maxDepth} levels.` };
      return first === '{' ? scanObject(depth + 1) : scanArray(depth + 1);
    }
    if (first === '"') return scanString();
    const start = at;
    const digits = take(numberAt);
    if (digits === undefined) return take(wordAt) === undefined ? unexpected() : undefined;
    if (Number.isFinite(Number(digits))) return undefined;
    return { rule: 'not-finite', at: start, message: 'A number is too large to be read as a finite number.' };
  };

  const scanArray = (depth: number): JsonFault | undefined => {
    at += 1;
    if (peek() === ']') {
      at += 1;
      return undefined;
    }
    for (;;) {
      const found = scanValue(depth);
      if (found !== undefined) return found;
      const next = peek();
      if (next !== ',' && next !== ']') return unexpected();
      at += 1;
      if (next === ']') return undefined;
    }
  };

  const scanObject = (depth: number): JsonFault | undefined => {
    const keys = new Set<string>();
    at += 1;
    if (peek() === '}') {
      at += 1;
      return undefined;
    }
    for (;;) {
      if (peek() !== '"') return unexpected();
      const found = scanKey(keys);
      if (found !== undefined) return found;
      if (peek() !== ':') return unexpected();
      at += 1;
      const inside = scanValue(depth);
      if (inside !== undefined) return inside;
      const next = peek();
      if (next !== ',' && next !== '}') return unexpected();
      at += 1;
      if (next === '}') return undefined;
    }
  };

  const scanKey = (keys: Set<string>): JsonFault | undefined => {
    const start = at;
    const found = scanString();
    if (found !== undefined) return found;
    const raw = text.slice(start, at);
    const key = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
    if (forbidden.has(key)) {
      return { rule: 'forbidden-key', at: start, message: `The key "${key}" is refused at any depth.` };
    }
    if (keys.has(key)) {
      return { rule: 'duplicate-key', at: start, message: 'A key stands twice in one object.' };
    }
    keys.add(key);
    return undefined;
  };

  const scanString = (): JsonFault | undefined => {
    const start = at;
    let hasUnicodeEscape = false;
    at += 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === 0x22) break;
      // The end of the text reads as NaN, which is not at least 0x20 either.
      if (!(code >= 0x20)) return unexpected();
      if (code !== 0x5c) {
        at += 1;
        continue;
      }
      const escaped = take(escapeAt);
      if (escaped === undefined) return unexpected();
      hasUnicodeEscape ||= escaped.length > 2;
    }
    at += 1;
    if (hasUnicodeEscape && !(JSON.parse(text.slice(start, at)) as string).isWellFormed()) {
      return { rule: 'not-well-formed', at: start, message: 'A string holds half of a surrogate pair.' };
    }
    return undefined;
  };

  const found = scanValue(0);
  if (found !== undefined) return found;
  return peek() === '' ? undefined : unexpected();
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
