import { invalidOption } from '../errors.ts';

/** Throws `option_invalid` unless `value` is a whole number from `min` to `max`. */
export function requireWhole(name: string, value: number, min: number, max: number): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw invalidOption(name, 'not a whole number in its range', `Pass ${min} to ${max}.`);
}

/**
 * A service's base URL without a trailing slash; throws `option_invalid` unless it is https, or http on
 * loopback, and free of user info, query and fragment.
 */
export function requireBaseUrl(name: string, value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined) throw invalidOption(name, 'not an absolute URL', 'Pass one such as https://host.');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname))) {
    throw invalidOption(name, 'neither https nor http on loopback', 'Pass an https URL.');
  }
  if (url.username !== '' || url.password !== '') {
    throw invalidOption(name, 'holds user info', 'Pass the credential through token().');
  }
  if (url.search !== '' || url.hash !== '') {
    throw invalidOption(name, 'holds a query or a fragment', 'Pass the URL without it.');
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
