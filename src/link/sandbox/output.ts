import { maxJsonBytes, maxJsonDepth } from '../../skill/caps.ts';
import type { Json } from '../../skill/json.ts';
import { forbiddenResultKeys, parseJson } from '../../skill/json.ts';
import { visible } from '../../skill/text.ts';

/** What a tool wrote, as a value, or the rule it broke. */
export type Output = { ok: true; value: Json } | { ok: false; detail: string };

/** Reads a tool's stdout: strict UTF-8, exactly one JSON value, no byte order mark, no key `__proto__`. */
export function readOutput(bytes: Uint8Array): Output {
  let text: string;
  try {
    // ignoreBOM keeps a mark in the text, where JSON's syntax refuses it.
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { ok: false, detail: 'The output is not UTF-8.' };
  }
  if (text.trim() === '')
    return { ok: false, detail: 'The tool wrote no output; it must write one JSON value.' };
  const result = parseJson(text, {
    maxLength: maxJsonBytes,
    maxDepth: maxJsonDepth,
    forbidden: forbiddenResultKeys,
  });
  if (result.ok) return result;
  return { ok: false, detail: `The output is not one JSON value: ${result.fault.message}` };
}

/** Longest stderr that is kept, in bytes. */
export const maxStderrBytes = 16_384;

/** A tool's stderr for a person: at most 16 KiB of UTF-8, what cannot be seen made visible. */
export function readStderr(bytes: Uint8Array): string {
  const text = visible(new TextDecoder().decode(bytes.subarray(0, maxStderrBytes)), { keepLines: true });
  const shown = new Uint8Array(maxStderrBytes);
  const { written } = new TextEncoder().encodeInto(text, shown);
  return new TextDecoder().decode(shown.subarray(0, written));
}
