import { SkillRunError } from '../errors.ts';
import { parseJson } from '../skill/json.ts';
import { type AuditEntry, isAuditEntry, withoutValues } from './audit.ts';

const maxLineLength = 1_000_000;

/**
 * An entry as a line of JSON, without the line feed.
 *
 * @param values whether it holds the arguments that the entry holds; their sha256 else
 */
export async function auditLine(entry: AuditEntry, values: boolean): Promise<string> {
  return JSON.stringify(values ? entry : await withoutValues(entry));
}

/**
 * Reads a line of an export, as anybody may have changed it: whether somebody has is what `verifyAudit` tells.
 *
 * @throws `audit_invalid` for what is no line of an audit, or longer than 1000000 characters
 */
export function parseAuditLine(line: string): AuditEntry {
  const read = parseJson(line, { maxLength: maxLineLength, maxDepth: 70 });
  if (read.ok && isAuditEntry(read.value)) return read.value;
  throw new SkillRunError(
    'audit_invalid',
    'The line is no entry of an audit. Pass one line of what audit.export() gave, whole.',
  );
}
