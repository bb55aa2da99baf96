import { SkillRunError } from './errors.ts';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The prefixes of the platform's ids, `<prefix>_<ULID>`. */
export type IdPrefix = 'usr' | 'prj' | 'agt' | 'med' | 'job' | 'stp' | 'grt' | 'aud';

const shapes: Record<IdPrefix, RegExp> = {
  usr: /^usr_[0-9A-HJKMNP-TV-Z]{26}$/,
  prj: /^prj_[0-9A-HJKMNP-TV-Z]{26}$/,
  agt: /^agt_[0-9A-HJKMNP-TV-Z]{26}$/,
  med: /^med_[0-9A-HJKMNP-TV-Z]{26}$/,
  job: /^job_[0-9A-HJKMNP-TV-Z]{26}$/,
  stp: /^stp_[0-9A-HJKMNP-TV-Z]{26}$/,
  grt: /^grt_[0-9A-HJKMNP-TV-Z]{26}$/,
  aud: /^aud_[0-9A-HJKMNP-TV-Z]{26}$/,
};

/** Whether `value` is an id `<prefix>_<ULID>` (26 characters of Crockford base32). */
export function isId(prefix: IdPrefix, value: unknown): value is string {
  return typeof value === 'string' && shapes[prefix].test(value);
}

/** Throws `option_invalid` unless `value` is an id of that prefix; the value itself is not repeated. */
export function requireId(prefix: IdPrefix, value: unknown, name: string): string {
  if (isId(prefix, value)) return value;
  throw new SkillRunError(
    'option_invalid',
    `${name}: not a ${prefix}_ id (${prefix}_ and a ULID of 26 characters). Pass the id as the platform gave it.`,
  );
}

let lastTime = -1;
let lastRandom: number[] = [];

/**
 * A new id. Ids made by one process within one millisecond sort in the order in which they were made.
 *
 * @param now milliseconds since 1970, of the injected clock
 */
export function newId(prefix: IdPrefix, now: number): string {
  const time = Math.floor(now);
  if (time === lastTime) {
    increment(lastRandom);
  } else {
    lastTime = time;
    lastRandom = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte % 32);
  }
  let head = '';
  for (let rest = time, n = 0; n < 10; n += 1, rest = Math.floor(rest / 32)) {
    head = alphabet.charAt(rest % 32) + head;
  }
  return `${prefix}_${head}${lastRandom.map((digit) => alphabet.charAt(digit)).join('')}`;
}

function increment(digits: number[]): void {
  for (let at = digits.length - 1; at >= 0; at -= 1) {
    const digit = digits[at] ?? 0;
    if (digit < 31) {
      digits[at] = digit + 1;
      return;
    }
    digits[at] = 0;
  }
}

/** `bytes` random bytes as lower-case hex. */
export function randomHex(bytes: number): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
