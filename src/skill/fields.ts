import * as z from 'zod/mini';
import { codePoints } from './text.ts';

// Field shapes that the document and the listing share. The bounds are the contract's own.

/** A string of `min` to `max` Unicode code points. */
export function text(min: number, max: number) {
  return z.string().check(
    z.refine((value: string) => value.length >= min && codePoints(value) <= max, {
      error: `Must have ${min} to ${max} characters.`,
      params: { rule: 'length' },
    }),
  );
}

/** A string of at most `maxLength` code units that has a form; the length is looked at first. */
export function form(pattern: RegExp, maxLength: number) {
  return z.string().check(
    z.refine((value: string) => value.length <= maxLength && pattern.test(value), {
      error: `Must have the form ${pattern.source} (at most ${maxLength} characters).`,
      params: { rule: 'pattern' },
    }),
  );
}

/** An array of at most `max` different strings. */
export function uniqueList<Schema extends z.ZodMiniType<string, string>>(item: Schema, max: number) {
  return z.array(item).check(
    z.maxLength(max),
    z.refine((list: string[]) => new Set(list).size === list.length, {
      error: 'Must not hold the same value twice.',
      params: { rule: 'unique' },
    }),
  );
}

// RFC 3339 `date-time`: lower-case letters and a leap second are of it.
const dateTimeForm = /^\d{4}-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-](\d\d):(\d\d))$/;
const dateTimeMost = [12, 31, 23, 59, 60, 23, 59];

export const dateTime = z
  .string()
  .check(z.refine(isDateTime, { error: 'Must be an RFC 3339 date-time.', params: { rule: 'pattern' } }));

function isDateTime(value: string): boolean {
  const parts = value.length <= 64 ? dateTimeForm.exec(value) : null;
  if (parts === null) return false;
  const [month = 0, day = 0, ...rest] = parts.slice(1).map((part) => Number(part ?? 0));
  const year = Number(value.slice(0, 4));
  const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return (
    month >= 1 &&
    day >= 1 &&
    day <= days &&
    [month, day, ...rest].every((part, at) => part <= (dateTimeMost[at] ?? 0))
  );
}

export const slug = form(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/, 64);
export const version = form(/^(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})$/, 20);
export const userId = form(/^usr_[0-9A-HJKMNP-TV-Z]{26}$/, 30);
export const mediaId = form(/^med_[0-9A-HJKMNP-TV-Z]{26}$/, 30);
export const hash = form(/^[0-9a-f]{64}$/, 64);
export const toolName = form(/^[a-z][a-z0-9_]{0,31}$/, 32);
export const integrity = z.strictObject({ alg: z.literal('sha256'), hash });

const part = '[a-z0-9][a-z0-9_-]{0,59}';
/** The form of a resource path that ends in one of `extensions`: no `..`, no dot but the last. */
export function resourcePath(extensions: readonly string[]) {
  return form(new RegExp(`^${part}(?:/${part}){0,3}\\.(${extensions.join('|')})$`), 248);
}
