// Names that belong to no public host (RFC 6761, 6762, 7686, 8375, 9476, ICANN's `internal`), and those that
// private networks are used to give.
const privateEndings: readonly string[] = [
  'localhost',
  'local',
  'localdomain',
  'internal',
  'intranet',
  'private',
  'lan',
  'home',
  'corp',
  'onion',
  'alt',
  'arpa',
  'test',
  'invalid',
  'example',
];

// Letters, digits and hyphens only: no dot at the end, no brackets, no `@`, `%`, NUL or other script. A name in
// another script comes as its `xn--` form, which stands for itself and never for what it looks like.
const shape = /^[A-Za-z0-9.-]{1,253}$/;
const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
// A last label that begins with a digit would make an address in some notation: `2130706433`, `0x7f.1`, `1.2.3.4`.
const ending = /^[a-z]/;

/**
 * A DNS name of a host that may be public, in lower case; `undefined` for everything else: IP addresses in any
 * notation, names of one label, names that private networks give.
 */
export function readHostName(text: string): string | undefined {
  if (!shape.test(text)) return undefined;
  const name = text.toLowerCase();
  const labels = name.split('.');
  const last = labels.at(-1) ?? '';
  if (labels.length < 2 || !ending.test(last) || privateEndings.includes(last)) return undefined;
  return labels.every((one) => label.test(one)) ? name : undefined;
}
