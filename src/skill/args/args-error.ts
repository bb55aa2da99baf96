import type { Json } from '../json.ts';

/** One thing that is wrong with a tool's arguments. None of their values stands in it. */
export interface ArgsError {
  /** A JSON pointer into the arguments, such as `/title`; `""` is the arguments themselves. */
  readonly path: string;
  /** What the schema asks for, such as `a string of at most 120 characters`. */
  readonly expected: string;
  /** What came: a type, and for a string that is too long its length. */
  readonly received: string;
  /** The three as one sentence. */
  readonly message: string;
}

/** At most this many errors are told of one call. */
const maxErrors = 50;

/** Errors as they are found; `full` once no more are kept. */
export interface ErrorList {
  readonly errors: readonly ArgsError[];
  readonly full: boolean;
  add(path: string, expected: string, received: string): void;
}

/** An empty list of at most 50 errors. */
export function createErrorList(): ErrorList {
  const errors: ArgsError[] = [];
  return {
    errors,
    get full() {
      return errors.length >= maxErrors;
    },
    add(path, expected, received) {
      if (errors.length >= maxErrors) return;
      const where = path === '' ? 'The arguments' : path;
      errors.push({
        path,
        expected,
        received,
        message: `${where}: expected ${expected}, received ${received}.`,
      });
    },
  };
}

/** A value's JSON type, with its article. */
export function describeType(value: Json): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) return 'a number that is not finite';
    return Number.isInteger(value) ? 'a number' : 'a number with a fraction';
  }
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
