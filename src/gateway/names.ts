/** The shortest and the longest name that is looked for, in UTF-16 code units of normalised text. */
export const shortestName = 6;
export const longestName = 16;

const between = /[\s\p{Pi}\p{Pf}\p{Ps}\p{Pe}"'`<>]+|:\/\//u;
// What a host, a code or a number is written with; what stands about it is another piece.
const aroundPieces = /[^\p{L}\p{M}\p{N}._-]+/u;
const before = /^[^\p{L}\p{M}\p{N}]+/u;
// A path, a handle or a variable may be a name only by what it begins with.
const beforeSigil = /^[^\p{L}\p{M}\p{N}/\\@#~._$]+/u;
// Words, also joined by marks of a sentence, or two by a slash.
const plain = /^[\p{L}\p{M}][\p{L}\p{M}\-–—,:;!?&]*(?:\/[\p{L}\p{M}\-–—,:;!?&]*)?$/u;
const ofName = /[\p{L}\p{M}\p{N}]/u;

/**
 * What in a normalised text is no plain word and can be taken over by itself: an address, a host, a number, a code,
 * a path, an id. Each stands between white space, quotes or brackets, with and without the marks about it, and so do
 * the parts of one.
 */
export function namesOf(text: string): Set<string> {
  const names = new Set<string>();
  const add = (name: string): void => {
    if (name.length >= shortestName && name.length <= longestName && !plain.test(name)) names.add(name);
  };
  for (const token of text.split(between)) {
    if (token.length < shortestName) continue;
    const end = endOf(token);
    const head = token.slice(0, end);
    add(head.replace(beforeSigil, ''));
    add(head.replace(before, ''));
    for (const piece of head.split(aroundPieces)) add(piece.slice(0, endOf(piece)).replace(before, ''));
  }
  return names;
}

// From the end and not with a pattern, which would begin anew at each mark of a long row of them.
function endOf(token: string): number {
  let end = token.length;
  while (end > 0 && !ofName.test(characterBefore(token, end))) end -= characterBefore(token, end).length;
  return end;
}

function characterBefore(text: string, end: number): string {
  const low = text.charCodeAt(end - 1);
  const isPair = low >= 0xdc00 && low <= 0xdfff && end > 1;
  return isPair ? text.slice(end - 2, end) : text.charAt(end - 1);
}

/** Names that are looked for within a text, wherever in it one begins. */
export interface NameSet {
  add(name: string): void;
  isIn(text: string): boolean;
}

export function createNameSet(names: Iterable<string> = []): NameSet {
  const known = new Set<string>();
  // A text has a name only where it has a name's beginning: most places are done with at one look.
  const beginnings = new Set<string>();
  const add = (name: string): void => {
    known.add(name);
    beginnings.add(name.slice(0, shortestName));
  };
  for (const name of names) add(name);
  return {
    add,
    isIn(text) {
      if (known.size === 0) return false;
      for (let at = 0; at + shortestName <= text.length; at += 1) {
        if (!beginnings.has(text.slice(at, at + shortestName))) continue;
        for (let length = shortestName; length <= longestName; length += 1) {
          if (known.has(text.slice(at, at + length))) return true;
        }
      }
      return false;
    },
  };
}
