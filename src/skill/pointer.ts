import { excerpt } from './text.ts';

/**
 * The JSON pointer (RFC 6901) of a member of what `path` points at. A key is someone else's text: it is cut
 * at 80 characters, and its invisible characters are made visible.
 */
export function member(path: string, key: string | number): string {
  const name = typeof key === 'number' ? String(key) : excerpt(key);
  return `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/** The JSON pointer (RFC 6901) to `path`, from the whole. */
export function pointer(path: readonly PropertyKey[]): string {
  return path.reduce<string>((at, key) => member(at, typeof key === 'number' ? key : String(key)), '');
}
