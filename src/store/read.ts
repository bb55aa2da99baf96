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
 * @throws `store_invalid` for what is none
 */
export function readGrant(value: unknown): Grant {
  if (isGrant(value)) return value;
  throw invalid('a grant');
}

/** @throws `store_invalid` for what is no audit entry */
export function readEntry(value: unknown): AuditEntry {
  if (isAuditEntry(value)) return value;
  throw invalid('an audit entry');
}

/** @throws `store_invalid` for what is no record of an allowance */
export function readAllowance(value: unknown): AllowanceRecord {
  if (isAllowance(value)) return value;
  throw invalid('a record of an allowance');
}

/** Whether it has the subject and project of a scope. */
export function isScope(value: unknown): boolean {
  return isObject(value) && isId('usr', value.subject) && isId('prj', value.project);
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
