import { SkillRunError } from '../errors.ts';
import { visible } from '../skill/text.ts';
import type { StepRecord, StepState } from '../step/record.ts';

/** A person's answer to an {@link ApprovalRequest}. */
export type Decision =
  | {
      readonly decision: 'approve';
      /** Also allow every later run of exactly this version's tool. Default `false`. */
      readonly always?: boolean;
      readonly reason?: string;
    }
  | {
      readonly decision: 'deny';
      /** A refusal is one, whatever box beside it was ticked. */
      readonly always?: boolean;
      readonly reason?: string;
    };

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

/** Whether a decision has the shape of one. */
export function isDecision(value: unknown): value is Decision {
  if (typeof value !== 'object' || value === null) return false;
  const { decision, always, reason } = value as { decision?: unknown; always?: unknown; reason?: unknown };
  if (decision !== 'approve' && decision !== 'deny') return false;
  if (always !== undefined && typeof always !== 'boolean') return false;
  return reason === undefined || typeof reason === 'string';
}
