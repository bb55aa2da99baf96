import { isSkillRunError, SkillRunError } from '../../errors.ts';

/**
 * What leaves the store where the database failed. The driver's own error stays behind: its message, its detail
 * and its parameters may hold arguments of a step.
 */
export function failureOf(error: unknown): SkillRunError {
  if (isSkillRunError(error)) return error;
  const code = codeOf(error);
  const retryable = isPassing(code, error);
  const remedy = retryable
    ? 'The same call may succeed later; whether this one took effect is not known.'
    : 'The log of the database or of its driver says more; mend it, then make the call again.';
  return new SkillRunError(
    'store_unavailable',
    `The database of the store failed${code === undefined ? '' : ` (${code})`}. ${remedy}`,
    { retryable },
  );
}

// SQLSTATEs, SQLite's and Node's names of errors are all made of these.
function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' && /^[A-Z0-9_]{1,40}$/.test(code) ? code : undefined;
}

// Connection exceptions, rollbacks by the server (serialization, deadlocks), too few resources, a server that
// goes down or comes up, a lock or a statement that took too long.
const passingStates = /^(?:08|40|53|57P0[1235]$|57014$|55P03$)/;
const passingNames = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN']);
/** SQLITE_BUSY and SQLITE_LOCKED. */
const busy = [5, 6];

function isPassing(code: string | undefined, error: unknown): boolean {
  // pg has no code for a connection that was lost or never came.
  if (code === undefined) return error instanceof Error && /\bconnect/i.test(error.message);
  const raw = (error as { rawCode?: unknown }).rawCode;
  return (
    passingNames.has(code) ||
    /^SQLITE_(?:BUSY|LOCKED)/.test(code) ||
    // Extended codes have the plain one in their last byte.
    (typeof raw === 'number' && busy.includes(raw & 0xff)) ||
    (code.length === 5 && passingStates.test(code))
  );
}
