import type { Json } from '../skill/json.ts';

// Everything that could pass for the fence's own angle brackets, or start an entity that stands for one; and
// everything a reader does not see. Written as JSON escapes, so that the text stays the same JSON value.
const unsafe =
  /[<>&\u02c2\u02c3\u1438\u1433\u2039\u203a\u2329\u232a\u276c-\u2771\u27e8-\u27eb\u2997\u2998\u29fc\u29fd\u3008-\u300b\ufe3d-\ufe40\ufe64\ufe65\uff1c\uff1e\uff06\ufe60\u16b2\u{16f3f}\u{1d236}\u{1d237}\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/** A JSON value as one line of JSON in which nothing looks like markup and nothing is invisible. */
export function escapedJson(value: Json): string {
  return JSON.stringify(value).replace(unsafe, (character) => {
    let escaped = '';
    for (let at = 0; at < character.length; at += 1) {
      escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
    }
    return escaped;
  });
}
