import { sha256 } from '../skill/sha256.ts';

const maxName = 64;
const tagDigits = 12;
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * The name under which a model calls a tool: `<tool>_<slug>_<tag>`, at most 64 characters of
 * `^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`, the narrowest set any provider takes.
 *
 * The tag is 60 bits of a sha256 over slug, version and tool, so that a name stays the same whatever else is
 * installed, and two tools differ also where a provider rewrites every character outside `[a-zA-Z0-9]` to `_`.
 * A name is looked up, never parsed back.
 */
export async function menuName(slug: string, version: string, tool: string): Promise<string> {
  const digest = await sha256(JSON.stringify(['menu-name@1', slug, version, tool]));
  const tag = base32(digest).slice(0, tagDigits);
  const room = maxName - tagDigits - tool.length - 2;
  return `${tool}_${slug.slice(0, room)}_${tag}`;
}

function base32(hex: string): string {
  let digits = '';
  for (let at = 0; at + 5 <= hex.length; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16);
    for (const shift of [15, 10, 5, 0]) digits += alphabet.charAt((bits >> shift) & 31);
  }
  return digits;
}
