/** Every `code` an error of this library can carry. */
export type ErrorCode =
  | 'option_invalid'
  | 'skill_invalid'
  | 'step_invalid'
  | 'step_schema_unknown'
  | 'step_not_found'
  | 'step_already_decided'
  | 'step_expired'
  | 'step_digest_mismatch'
  | 'always_not_allowed'
  | 'arguments_invalid'
  | 'edit_refused'
  | 'decision_not_allowed'
  | 'widening_refused'
  | 'policy_invalid'
  | 'store_conflict'
  | 'store_unavailable'
  | 'store_schema_unknown'
  | 'store_invalid'
  | 'snapshot_invalid'
  | 'audit_invalid'
  | 'run_problem'
  | 'run_unreachable'
  | 'run_answer_invalid'
  | 'job_not_found'
  | 'link_unavailable'
  | 'media_unavailable'
  | 'registry_unavailable'
  | 'aborted'
  | 'closed';

const brand = Symbol.for('openvibe-skill-run.error');

/** What an error is made from besides its code and message. */
export interface ErrorDetails {
  /** What caused it, where something did. Never shown to a model. */
  cause?: unknown;
  /** Whether the same call may succeed later without a change. Default `false`. */
  retryable?: boolean;
}

/**
 * The one base of every error this library throws.
 *
 * Outcomes of a call are values; only a fault of the caller, or of the machine
 * under it, throws. No token, argument value or result ever stands in one.
 */
export class SkillRunError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = details.retryable ?? false;
    // A symbol of the global registry, so that the guard holds over two installed copies.
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether `value` is an error of this library, and, where `code` is given, of that code. */
export function isSkillRunError(value: unknown, code?: ErrorCode): value is SkillRunError {
  if (typeof value !== 'object' || value === null) return false;
  if ((value as { [brand]?: unknown })[brand] !== true) return false;
  return code === undefined || (value as SkillRunError).code === code;
}

/** An option, or a value that only the host can set, has the wrong shape. */
export function invalidOption(name: string, rule: string, remedy: string): SkillRunError {
  return new SkillRunError('option_invalid', `${name}: ${rule}. ${remedy}`);
}
