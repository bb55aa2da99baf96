/** Why a value has no JSON text. */
export interface WriteFault {
  readonly rule: 'not-json' | 'too-long' | 'too-deep' | 'not-finite';
  readonly message: string;
}

/** A value's JSON text, or the first fault. */
export type Written =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly fault: WriteFault };

/** The bounds that {@link writeJson} holds a text to. */
export interface WriteBounds {
  /** Longest text, in UTF-16 code units. */
  maxLength: number;
  /** Deepest nesting of arrays and objects. */
  maxDepth: number;
}

const faults = {
  'not-json':
    'A value in the arguments is no JSON: only plain objects, arrays, strings, numbers, booleans and null are.',
  'too-long': 'The arguments are too long as JSON text.',
  'too-deep': 'The arguments are nested too deep, or hold themselves.',
  'not-finite': 'A number in the arguments is not finite.',
} as const;

/**
 * Writes a value as JSON where `JSON.stringify` would change it in silence: a number that is not finite, a
 * function, a bigint, a class's instance or a `toJSON` is refused, and nothing of them is called. Only a
 * member that is `undefined` is left out. Bounded while it writes, so that a value that holds itself, or
 * the same part many times over, ends soon. Never throws, whatever a getter or a proxy does.
 */
export function writeJson(root: unknown, bounds: WriteBounds): Written {
  const parts: string[] = [];
  let length = 0;

  const put = (part: string): WriteFault['rule'] | undefined => {
    parts.push(part);
    length += part.length;
    return length > bounds.maxLength ? 'too-long' : undefined;
  };

  const write = (value: unknown, depth: number): WriteFault['rule'] | undefined => {
    if (value === null || typeof value === 'boolean') return put(String(value));
    // Escaping can only lengthen a string, and one that is too long is not worth escaping.
    if (typeof value === 'string')
      return value.length > bounds.maxLength ? 'too-long' : put(JSON.stringify(value));
    if (typeof value === 'number') return Number.isFinite(value) ? put(JSON.stringify(value)) : 'not-finite';
    if (typeof value !== 'object') return 'not-json';
    if (depth === bounds.maxDepth) return 'too-deep';
    if (Array.isArray(value)) return writeArray(value, depth + 1);
    return isPlain(value) ? writeObject(value, depth + 1) : 'not-json';
  };

  const writeArray = (items: readonly unknown[], depth: number): WriteFault['rule'] | undefined => {
    let found = put('[');
    for (let at = 0; at < items.length && found === undefined; at += 1) {
      found = (at === 0 ? undefined : put(',')) ?? write(items[at], depth);
    }
    return found ?? put(']');
  };

  const writeObject = (object: object, depth: number): WriteFault['rule'] | undefined => {
    let found = put('{');
    let separator = '';
    for (const key of Object.keys(object)) {
      const value = (object as Record<string, unknown>)[key];
      if (value === undefined) continue;
      found ??= put(`${separator}${JSON.stringify(key)}:`) ?? write(value, depth);
      if (found !== undefined) return found;
      separator = ',';
    }
    return found ?? put('}');
  };

  let rule: WriteFault['rule'] | undefined;
  try {
    rule = write(root, 0);
  } catch {
    rule = 'not-json';
  }
  if (rule === undefined) return { ok: true, text: parts.join('') };
  return { ok: false, fault: { rule, message: faults[rule] } };
}

// Another realm's plain object has that realm's Object.prototype, which ends its chain like our own.
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
