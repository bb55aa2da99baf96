import { invalidOption } from '../errors.ts';

/**
 * The host's token for the service. Asked before each attempt, so that it is never stale; with
 * `refresh` once after the service refused it.
 */
export type TokenSource = (options: { refresh: boolean }) => string | Promise<string>;

/** `token` when it is a bearer token of RFC 6750; else throws `option_invalid`, without repeating it. */
export function requireToken(token: unknown): string {
  if (typeof token === 'string' && token.length <= 16_384 && /^[A-Za-z0-9\-._~+/]+=*$/.test(token)) {
    return token;
  }
  throw invalidOption(
    'token()',
    'not a bearer token of RFC 6750',
    'Return the token alone, as it was issued.',
  );
}
