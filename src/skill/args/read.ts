import { maxJsonBytes, maxJsonDepth } from '../caps.ts';
import { type JsonFault, type JsonObject, parseJson } from '../json.ts';
import { utf8 } from '../sha256.ts';
import type { ArgsValidator, ArgsVerdict } from './compile.ts';
import { type WriteFault, writeJson } from './write.ts';

/** Why a call's arguments were not read. */
export interface ArgumentsFault {
  /** The rule that was broken. */
  readonly rule: JsonFault['rule'] | WriteFault['rule'] | 'not-object';
  /** Position in the model's text in UTF-16 code units, where it is known. */
  readonly at?: number;
  /** A sentence; nothing of the arguments stands in it. */
  readonly message: string;
}

/** A call's arguments, or the first fault. */
export type ReadArguments =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly fault: ArgumentsFault };

/**
 * Reads what a model gave as a tool's arguments: its raw JSON text, or an object that a harness made of it.
 *
 * Text that is empty or only white space is `{}`, as some models write a call without arguments. Anything
 * else is one complete JSON object of at most 64 KiB (UTF-8) and 64 levels; nothing is repaired. An object is
 * copied through JSON text, so that a getter, a proxy or a prototype can have no say after this.
 */
export function readArguments(raw: unknown): ReadArguments {
  if (typeof raw === 'string') return readText(raw);
  const written = writeJson(raw, { maxLength: maxJsonBytes, maxDepth: maxJsonDepth });
  if (!written.ok) return written;
  const read = readText(written.text);
  if (read.ok || read.fault.at === undefined) return read;
  // The position is one in a text that the caller never saw.
  return refuse(read.fault.rule, read.fault.message);
}

/** Reads arguments as {@link readArguments} does, and validates them. */
export function validArguments(validator: ArgsValidator, raw: unknown): ArgsVerdict {
  const read = readArguments(raw);
  if (read.ok) return validator.validate(read.value);
  const { rule: received, message } = read.fault;
  return { ok: false, errors: [{ path: '', expected: 'one JSON object', received, message }] };
}

function readText(text: string): ReadArguments {
  if (text.length > maxJsonBytes || utf8(text).length > maxJsonBytes) {
    return refuse('too-long', `The arguments are longer than ${maxJsonBytes} bytes.`);
  }
  if (/^[ \t\n\r]*$/.test(text)) return { ok: true, value: {} };
  const parsed = parseJson(text, { maxLength: maxJsonBytes, maxDepth: maxJsonDepth });
  if (!parsed.ok) return parsed;
  const { value } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refuse('not-object', 'The arguments are not a JSON object.');
  }
  // What goes on is the value, and its own text can be longer: 1e9 is ten digits.
  if (utf8(JSON.stringify(value)).length > maxJsonBytes) {
    return refuse('too-long', `The arguments are longer than ${maxJsonBytes} bytes when written out.`);
  }
  return { ok: true, value: value as JsonObject };
}

function refuse(rule: ArgumentsFault['rule'], message: string): ReadArguments {
  return { ok: false, fault: { rule, message } };
}
