const brand: unique symbol = Symbol.for('openvibe-skill-run.untrusted') as never;

/**
 * A value that a stranger's code made. It is data: never a call, a decision or an instruction.
 * Printing or serializing it does not show it; reading it is an explicit call.
 */
export interface Untrusted<T> {
  readonly [brand]: true;
  /** The bare value. From here on you answer for where it goes. */
  reveal(): T;
  toJSON(): string;
  toString(): string;
}

const placeholder = '[untrusted value]';

/** Marks a value as untrusted. */
export function untrusted<T>(value: T): Untrusted<T> {
  return Object.freeze({
    [brand]: true as const,
    reveal: () => value,
    toJSON: () => placeholder,
    toString: () => placeholder,
  });
}

/** Whether a value is an {@link Untrusted}, of this or of another copy of the library. */
export function isUntrusted(value: unknown): value is Untrusted<unknown> {
  return typeof value === 'object' && value !== null && (value as { [brand]?: unknown })[brand] === true;
}
