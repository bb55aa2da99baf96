import type { Json } from '../skill/json.ts';
import { parseJson } from '../skill/json.ts';
import { argsTooLarge, maxArgsBytes } from './job-request.ts';
import { refusal } from './refusal.ts';

/** What a submit holds beside its args: 32 inputs and the rest stay far below it. */
const maxBodyBytes = maxArgsBytes + 65_536;

/**
 * Reads a request's body as JSON: at most 576 KiB, strict UTF-8, no key twice.
 * Throws a refusal: 400 `run.invalid_request`, 413 `run.args_too_large`, 415 `run.unsupported_media_type`.
 */
export async function readJsonBody(request: Request): Promise<Json> {
  // A page in a browser cannot send this type elsewhere without asking first.
  const type = request.headers.get('content-type') ?? '';
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw refusal(415, 'run.unsupported_media_type', 'Content-Type: only application/json is read.');
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(await readBytes(request));
  } catch (error) {
    if (error instanceof TypeError) throw refusal(400, 'run.invalid_request', 'The body is not UTF-8.');
    throw error;
  }
  const parsed = parseJson(text, { maxLength: maxBodyBytes, maxDepth: 80 });
  if (!parsed.ok) throw refusal(400, 'run.invalid_request', `The body is not taken: ${parsed.fault.rule}.`);
  return parsed.value;
}

async function readBytes(request: Request): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw argsTooLarge();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.byteLength;
    if (length > maxBodyBytes) throw argsTooLarge();
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}
