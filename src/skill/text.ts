// Characters that a reader does not see, or that reorder what he sees: controls, format characters,
// fillers that render as nothing, variation selectors, the tag characters, and halves of surrogate pairs.
const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** Whether `text` holds a character that a reader does not see; line feeds and tabs are seen. */
export function hasInvisible(text: string): boolean {
  return text.replace(/[\n\t]/g, '').search(invisible) !== -1;
}

/** `text` with each invisible character written as `\u{hex}`, so that a person sees that it is there. */
export function visible(text: string, options: { keepLines?: boolean } = {}): string {
  return text.replace(invisible, (character) => {
    if (options.keepLines === true && (character === '\n' || character === '\t')) return character;
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}

/** The beginning of someone else's text, fit for a message: at most `max` code units, nothing invisible. */
export function excerpt(text: string, max = 80): string {
  return visible(text.length > max ? `${text.slice(0, max)}…` : text);
}

/** How many Unicode code points `text` has (JSON Schema's measure of length). */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
