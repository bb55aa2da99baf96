const encoder = new TextEncoder();

// The smallest parts that a cut may not go through: an escaped surrogate pair, an escape, a character.
const part = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|./gsu;

/** A text that fits into a number of UTF-8 bytes. */
export interface Cut {
  readonly text: string;
  /** Whether anything was left out. */
  readonly cut: boolean;
  /** UTF-8 bytes of the whole text. */
  readonly wholeBytes: number;
  /** UTF-8 bytes of it that are shown. */
  readonly shownBytes: number;
}

/**
 * Keeps the head and the tail of a text of escaped JSON and splits neither a character nor an escape.
 *
 * @param maxBytes the most UTF-8 bytes of the answer, the marker in its middle included
 * @param marker what stands in the middle, given the two lengths
 */
export function cutMiddle(
  text: string,
  maxBytes: number,
  marker: (shownBytes: number, wholeBytes: number) => string,
): Cut {
  const wholeBytes = byteLength(text);
  if (wholeBytes <= maxBytes) return { text, cut: false, wholeBytes, shownBytes: wholeBytes };
  // The marker is never longer than with the largest numbers it can hold.
  const room = Math.max(0, maxBytes - byteLength(marker(wholeBytes, wholeBytes)));
  const parts = text.match(part) ?? [];
  const head = take(parts, Math.ceil(room / 2));
  const tail = take(parts.toReversed(), room - head.bytes);
  const shownBytes = head.bytes + tail.bytes;
  return {
    text: head.parts.join('') + marker(shownBytes, wholeBytes) + tail.parts.reverse().join(''),
    cut: true,
    wholeBytes,
    shownBytes,
  };
}

function take(parts: readonly string[], room: number): { parts: string[]; bytes: number } {
  const taken: string[] = [];
  let bytes = 0;
  for (const one of parts) {
    const size = byteLength(one);
    if (bytes + size > room) break;
    taken.push(one);
    bytes += size;
  }
  return { parts: taken, bytes };
}

/** UTF-8 bytes of a text. */
export function byteLength(text: string): number {
  return encoder.encode(text).length;
}
