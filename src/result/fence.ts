import { invalidOption } from '../errors.ts';
import { randomHex } from '../ids.ts';
import type { Json } from '../skill/json.ts';
import { cutMiddle } from './cut.ts';
import { escapedJson } from './escape.ts';

/** How {@link fence} is bounded and labelled. */
export interface FenceOptions {
  /** The most UTF-8 bytes of the whole fenced text. Default 16384, at least 512. */
  maxModelBytes?: number;
  /** What the data is, in our own words, such as `result`. Letters, digits, `.`, `_`, `@` and `-`. */
  kind?: string;
}

/** The default of `maxModelBytes`. */
export const defaultMaxModelBytes = 16_384;

/**
 * Untrusted data for a model: one line of JSON between two tags that only this call knows.
 *
 * The nonce is fresh, and inside nothing can look like a tag, so that the data can neither close the fence
 * nor open another. What does not fit is cut out of the middle by a marker that states both lengths.
 */
export function fence(value: Json, options: FenceOptions = {}): string {
  const { maxModelBytes = defaultMaxModelBytes, kind = 'result' } = options;
  checkMaxModelBytes(maxModelBytes);
  if (JSON.stringify(value) === undefined) {
    throw invalidOption('value', 'must be a JSON value', 'Pass null where there is none.');
  }
  if (!/^[A-Za-z0-9._@-]{1,120}$/.test(kind)) {
    throw invalidOption('kind', 'must be 1 to 120 of letters, digits, ".", "_", "@" and "-"', 'Shorten it.');
  }
  return fenceWithin(value, kind, maxModelBytes);
}

/** The fence itself, for a caller that has checked its options. At least 200 bytes. */
export function fenceWithin(value: Json, kind: string, maxBytes: number): string {
  const nonce = randomHex(8);
  const open = `<untrusted-${nonce} kind="${kind}">`;
  const close = `</untrusted-${nonce}>`;
  const frame = open.length + close.length + 2;
  const { text } = cutMiddle(
    escapedJson(value),
    maxBytes - frame,
    (shown, whole) => ` [cut ${nonce}: ${shown} of ${whole} bytes shown] `,
  );
  return `${open}\n${text}\n${close}`;
}

/** Throws `option_invalid` unless there is room for a fence with something in it. */
export function checkMaxModelBytes(value: number): void {
  if (Number.isInteger(value) && value >= 512) return;
  throw invalidOption('maxModelBytes', 'must be an integer of at least 512', 'Leave it out for 16384.');
}
