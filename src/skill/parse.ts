import { hashDocument } from './canonical.ts';
import type { SkillDocument } from './document.ts';
import { checkRules } from './document-rules.ts';
import { documentV1, documentV2 } from './document-schema.ts';
import { SkillInvalid, type SkillIssue } from './issue.ts';
import { deepFreeze, type Json, parseJson } from './json.ts';
import { fromZodIssues, maxIssues } from './zod-issues.ts';

/**
 * The longest document that is read, in UTF-16 code units: ten resources of 64 KiB, each character written
 * as a six-character escape, and the other fields beside them.
 */
export const maxDocumentLength = 4_400_000;

/**
 * Reads a skill document (`actor.skill@1` or `@2`): every field, bound and cross-field rule of the contract,
 * and its integrity hash over its own canonical JSON.
 *
 * @param input the document's JSON text, or the parsed value (it is copied)
 * @returns the document as its author wrote it, frozen; defaults are not filled in
 * @throws {@link SkillInvalid} with every broken rule; a document whose fields are wrong is not hashed
 */
export async function parseSkill(input: unknown): Promise<SkillDocument> {
  const document = readDocument(input);
  const hash = await hashDocument(document);
  if (hash !== document.integrity.hash) {
    throw new SkillInvalid('The skill document', [
      {
        path: '/integrity/hash',
        rule: 'integrity-mismatch',
        message: `The document's own content has the sha256 ${hash}: it was edited after it was written.`,
      },
    ]);
  }
  return document;
}

function readDocument(input: unknown): SkillDocument {
  const value = readUntrusted('The skill document', input, maxDocumentLength);
  const marker = (value as { skill?: unknown } | null)?.skill;
  const parsed = marker === 'actor.skill@1' ? documentV1.safeParse(value) : documentV2.safeParse(value);
  if (!parsed.success) throw invalid(fromZodIssues(parsed.error.issues));
  const issues = checkRules(parsed.data);
  if (issues.length > 0) throw invalid(issues);
  return deepFreeze(parsed.data);
}

function invalid(issues: readonly SkillIssue[]): SkillInvalid {
  return new SkillInvalid('The skill document', issues.slice(0, maxIssues));
}

/** A JSON text, or a value copied through its JSON text, held to the rules of {@link parseJson}. */
export function readUntrusted(what: string, input: unknown, maxLength: number): Json {
  const text = typeof input === 'string' ? input : toText(input);
  const read = text === undefined ? undefined : parseJson(text, { maxLength, maxDepth: 16 });
  if (read?.ok === true) return read.value;
  const fault = read?.fault ?? { rule: 'not-json', message: 'The value has no JSON text.' };
  throw new SkillInvalid(what, [{ path: '', rule: fault.rule, message: fault.message }]);
}

function toText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) as string | undefined;
  } catch {
    return undefined;
  }
}
