import { SkillRunError } from '../errors.ts';
import type { ArgsError } from '../skill/args/args-error.ts';
import type { JsonObject } from '../skill/json.ts';
import { visible } from '../skill/text.ts';
import type { StepRecord, StepState } from '../step/record.ts';

/** A person's yes to a step. */
export interface Approval {
  readonly decision: 'approve';
  /** Also allow every later run of exactly this version's tool. Default `false`. */
  readonly always?: boolean;
  /**
   * Other arguments for it to run with, whole, as an object or its JSON text. They are validated against the
   * tool's schema, and policy is heard over them; the host's `transformArguments` is not, as the person's word
   * is the last. "Always" covers the same as without them.
   */
  readonly arguments?: JsonObject | string;
  /** The person's own words, for the step's record: no model sees them. Default: none. */
  readonly reason?: string;
}

/** A person's no to a step. */
export interface Denial {
  readonly decision: 'deny';
  /** A refusal is one, whatever box beside it was ticked. */
  readonly always?: boolean;
  /** The person's own words: the model is told them as theirs. Default: none. */
  readonly reason?: string;
}

/** A person's answer to an {@link ApprovalRequest}. */
export type Decision = Approval | Denial;

/** What reaches a person and decides. Rejecting, or answering anything else, decides nothing. */
export type Approver<Request> = (
  request: Request,
  options: { readonly signal: AbortSignal },
) => Decision | Promise<Decision>;

/** There is no such step of this person. Code `step_not_found`. */
export class StepNotFound extends SkillRunError {
  constructor(id: string) {
    super('step_not_found', `There is no step ${visible(id.slice(0, 40))} of this person and project.`);
  }
}

/** The step is no longer pending. Code `step_already_decided`. */
export class StepAlreadyDecided extends SkillRunError {
  readonly step: string;
  readonly state: StepState;
  /** The job it became, if it did. */
  readonly job: string | null;

  constructor(step: StepRecord) {
    super('step_already_decided', `The step ${step.id} was decided before: it is ${step.state}.`);
    this.step = step.id;
    this.state = step.state;
    this.job = step.attempts.at(-1)?.job ?? null;
  }
}

/** "Always" was said to a step that may not have it; nothing was decided. Code `always_not_allowed`. */
export class AlwaysNotAllowed extends SkillRunError {
  constructor(step: StepRecord) {
    super(
      'always_not_allowed',
      `The host's policy forbids "always" for ${step.target}. Approve it once instead.`,
    );
  }
}

/** A person's own arguments do not fit the tool's schema; nothing was decided. Code `arguments_invalid`. */
export class ArgumentsInvalid extends SkillRunError {
  /** What is wrong with them, at most 50. None of their values stands in it. */
  readonly errors: readonly ArgsError[];

  constructor(errors: readonly ArgsError[]) {
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
    super(
      'arguments_invalid',
      `The edited arguments do not fit the tool's schema: ${errors[0]?.message ?? 'no reason given.'}${more} Change them, or approve or deny the step as it was asked.`,
    );
    this.errors = errors;
  }
}

/** The edited step may not run; nothing was decided. Code `edit_refused`. */
export class EditRefused extends SkillRunError {
  constructor(why: string) {
    super('edit_refused', `${visible(why)} Approve or deny the step as it was asked.`);
  }
}

const parts: ReadonlySet<string> = new Set(['decision', 'always', 'reason', 'arguments']);

/** Whether a decision has the shape of one. A misspelt part is none: it would be believed in, and not happen. */
export function isDecision(value: unknown): value is Decision {
  if (typeof value !== 'object' || value === null) return false;
  if (Object.keys(value).some((name) => !parts.has(name))) return false;
  const { decision, always, reason } = value as { decision?: unknown; always?: unknown; reason?: unknown };
  if (decision !== 'approve' && decision !== 'deny') return false;
  if (always !== undefined && typeof always !== 'boolean') return false;
  return reason === undefined || typeof reason === 'string';
}
