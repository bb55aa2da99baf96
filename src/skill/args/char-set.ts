/** The code points from the first to the second, both included. */
export type Range = readonly [from: number, to: number];

const maxCodePoint = 0x10ffff;

/** What `\s` matches in ECMAScript: WhiteSpace and LineTerminator (ECMA-262 12.2 and 12.3), in order. */
export const spaces: readonly Range[] = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff],
];

/** Every code point that is in none of `ranges`, which stand in order. */
export function complement(ranges: readonly Range[]): Range[] {
  const others: Range[] = [];
  let next = 0;
  for (const [from, to] of ranges) {
    if (next < from) others.push([next, from - 1]);
    next = to + 1;
  }
  if (next <= maxCodePoint) others.push([next, maxCodePoint]);
  return others;
}

/** What `.` matches in ECMAScript without the flag `s`: all but the line terminators. */
export const dot: readonly Range[] = complement([
  [0x0a, 0x0a],
  [0x0d, 0x0d],
  [0x2028, 0x2029],
]);

/** A code point in the linear engine's syntax, whatever it means there unescaped. */
export function writeChar(code: number): string {
  return `\\x{${code.toString(16)}}`;
}

/** Ranges as what stands between the brackets of a character class. */
export function writeRanges(ranges: readonly Range[]): string {
  return ranges.map(([from, to]) => `${writeChar(from)}-${writeChar(to)}`).join('');
}
