import type * as z from 'zod/mini';
import { SkillRunError } from '../errors.ts';
import { maxJsonDepth } from '../skill/caps.ts';
import { forbiddenResultKeys, parseJson } from '../skill/json.ts';

/** An answer that no contract of the service allows; nothing of its content stands in the message. */
export function invalidAnswer(what: string, rule: string): SkillRunError {
  return new SkillRunError(
    'run_answer_invalid',
    `${what}: the answer ${rule}. Nothing of it was used; check that the base URL is the service's.`,
  );
}

/** An answer's media type in lower case, without parameters. */
export function mediaType(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** An answer's body as text, or `undefined` when it is longer than `maxBytes` or not UTF-8. */
export async function readText(response: Response, maxBytes: number): Promise<string | undefined> {
  if (response.body === null) return '';
  const reader = response.body.getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    bytes += value?.byteLength ?? 0;
    if (bytes > maxBytes) {
      reader.cancel().catch(() => {});
      return undefined;
    }
    try {
      text += decoder.decode(value, { stream: !done });
    } catch {
      reader.cancel().catch(() => {});
      return undefined;
    }
    if (done) return text;
  }
}

/** Reads an answer against its schema; rejects with `run_answer_invalid`. */
export async function readAnswer<Schema extends z.ZodMiniType>(
  what: string,
  response: Response,
  schema: Schema,
  maxBytes: number,
): Promise<z.output<Schema>> {
  if (mediaType(response) !== 'application/json') throw invalidAnswer(what, 'is not application/json');
  const text = await readText(response, maxBytes);
  if (text === undefined) throw invalidAnswer(what, `is longer than ${maxBytes} bytes or not UTF-8`);
  // A result may nest as deep as a result may; the message around it adds at most three levels.
  const parsed = parseJson(text, {
    maxLength: maxBytes,
    maxDepth: maxJsonDepth + 3,
    forbidden: forbiddenResultKeys,
  });
  if (!parsed.ok) throw invalidAnswer(what, `breaks the JSON rule ${parsed.fault.rule}`);
  const read = schema.safeParse(parsed.value);
  if (!read.success) {
    // The path's names are the schema's own: a key that it does not know is dropped, not reported.
    const path = read.error.issues[0]?.path.map(String).join('.') ?? '';
    throw invalidAnswer(what, `breaks the contract at "${path}"`);
  }
  return read.data;
}
