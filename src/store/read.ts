import { SkillRunError } from '../errors.ts';
import { isId } from '../ids.ts';
import { isObject } from '../skill/json.ts';
import type { AllowanceRecord } from './allowance.ts';
import { type AuditEntry, isAuditEntry } from './audit.ts';
import type { Grant } from './grant.ts';

/**
 * A stored grant. Like every reader here it checks the shape of what a store of the host's holds; whether
 * somebody has changed it is not checked.
 *
 * @throws `store_invalid` for what is none, `store_schema_unknown` for one that a newer version wrote: it may hold
 *   a condition that this version would pass over
 */
export function readGrant(value: unknown): Grant {
  requireKnown(value, 'A grant');
  if (isGrant(value)) return value;
  throw invalid('a grant');
}

/** @throws `store_invalid` for what is no audit entry */
export function readEntry(value: unknown): AuditEntry {
  if (isAuditEntry(value)) return value;
  throw invalid('an audit entry');
}

/** @throws `store_invalid` for what is no record of an allowance, `store_schema_unknown` for a newer one */
export function readAllowance(value: unknown): AllowanceRecord {
  requireKnown(value, 'A record of an allowance');
  if (isAllowance(value)) return value;
  throw invalid('a record of an allowance');
}

/** Whether it has the subject and project of a scope. */
export function isScope(value: unknown): boolean {
  return isObject(value) && isId('usr', value.subject) && isId('prj', value.project);
}

function requireKnown(value: unknown, what: string): void {
  if (!isObject(value) || value.schema === undefined || value.schema === 1) return;
  throw new SkillRunError(
    'store_schema_unknown',
    `${what} is stored in a schema that this version does not read. Use the version of this library that wrote it, or a newer one.`,
  );
}

function invalid(what: string): SkillRunError {
  return new SkillRunError(
    'store_invalid',
    `What is stored as ${what} is none. Restore the store from a copy; nothing was run on the strength of it.`,
  );
}

function isGrant(value: unknown): value is Grant {
  return isObject(value) && isId('grt', value.id) && typeof value.key === 'string' && isScope(value.scope);
}

function isAllowance(value: unknown): value is AllowanceRecord {
  return (
    isObject(value) &&
    typeof value.key === 'string' &&
    Number.isSafeInteger(value.revision) &&
    Number.isFinite(value.spent) &&
    isObject(value.held) &&
    Object.values(value.held).every(Number.isFinite)
  );
}
