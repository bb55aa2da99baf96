import { type Approval, type Decision, StepNotFound } from '../approval/decision.ts';
import type { ApprovalRequest } from '../approval/request.ts';
import { invalidOption, SkillRunError } from '../errors.ts';
import { isId } from '../ids.ts';
import { quoteName } from '../skill/issue.ts';
import type { StepRecord } from '../step/record.ts';
import type { Grant } from '../store/grant.ts';
import { requestFor } from './ask.ts';
import { type GatewayContext, requireOpen } from './context.ts';
import { applyDecision } from './decide.ts';
import type { Drives } from './drive.ts';
import { pendingSteps } from './open.ts';
import { type StepSummary, summaryOf } from './outcome.ts';
import { audit, auditConflict, load } from './record.ts';

/** What a decision came to. */
export interface DecisionResult {
  readonly step: StepSummary;
  /** With "always": the grant, or `'failed'` when it could not be written and the step runs just once. */
  readonly grant?: Grant | 'failed';
}

/** How a step is approved. */
export interface ApproveOptions extends Omit<Approval, 'decision'> {
  /** The gateway's person, `usr_…`. */
  by: string;
  /** The digest that was shown: of before an edit. Another one decides nothing. */
  digest?: string;
}

/** Deciding outside of a running call: from a page, a chat, another process. */
export interface Approvals {
  /** The steps that wait for this person, oldest first, each as he has to see it. */
  pending(): Promise<readonly ApprovalRequest[]>;
  /**
   * @param options `by` must be the gateway's person; `digest`, where given, what was shown
   * @throws `step_not_found`, `step_already_decided`, `step_expired`, `step_digest_mismatch`,
   *   `always_not_allowed`, `arguments_invalid`, `edit_refused`, `decision_not_allowed`; then nothing was decided
   */
  approve(stepId: string, options: ApproveOptions): Promise<DecisionResult>;
  deny(stepId: string, options: { by: string; reason?: string }): Promise<DecisionResult>;
  /** Ends a step that was not submitted; asks for the end of a job that was. */
  cancel(stepId: string): Promise<void>;
}

/** The "always allow" grants of the gateway's person and project. */
export interface Grants {
  list(): Promise<readonly Grant[]>;
  /** Seen by the next submit; whether there was such a grant. */
  revoke(grantId: string): Promise<boolean>;
}

export function createApprovals(context: GatewayContext, drives: Drives): Approvals {
  const decide = async (
    stepId: string,
    by: string,
    decision: Decision,
    digest?: string,
  ): Promise<DecisionResult> => {
    requireOpen(context);
    const step = await find(context, stepId);
    if (by !== context.person.subject) {
      throw new SkillRunError(
        'decision_not_allowed',
        'Only the person of this gateway decides: pass their usr_ id as `by`.',
      );
    }
    const { step: decided, ...rest } = await applyDecision(context, step, decision, digest);
    return { step: summaryOf(decided), ...rest };
  };
  return {
    async pending() {
      requireOpen(context);
      return Promise.all((await pendingSteps(context)).map((step) => requestFor(context, step)));
    },
    approve: async (stepId, options) => {
      const names = ['by', 'digest', 'always', 'arguments', 'reason'];
      const { by, digest, always, arguments: args, reason } = known('approve', options, names);
      if (digest !== undefined && typeof digest !== 'string') {
        throw invalidOption('digest', 'must be a text', 'Pass what was shown, or leave it out.');
      }
      if (always !== undefined && typeof always !== 'boolean') {
        throw invalidOption('always', 'must be a boolean', 'Leave it out for "only this time".');
      }
      const edited = args === undefined ? {} : { arguments: args };
      const decision = {
        decision: 'approve',
        ...said(reason),
        ...(always && { always }),
        ...edited,
      } as const;
      return decide(stepId, by, decision, digest);
    },
    deny: async (stepId, options) => {
      const { by, reason } = known('deny', options, ['by', 'reason']);
      return decide(stepId, by, { decision: 'deny', ...said(reason) });
    },
    async cancel(stepId) {
      requireOpen(context);
      await drives.cancel(await find(context, stepId));
    },
  };
}

// An option that is passed over would let a person believe in something that does not happen.
function known<Options extends object>(what: string, options: Options, names: readonly string[]): Options {
  const given: object = options ?? {};
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return given as Options;
  throw invalidOption(quoteName(unknown), `is no option of ${what}`, `It takes ${names.join(', ')}.`);
}

function said(reason: unknown): { reason?: string } {
  if (reason === undefined) return {};
  if (typeof reason === 'string') return { reason };
  throw invalidOption('reason', 'must be a text', 'Leave it out where the person gave none.');
}

/** The step of that id. Throws `step_not_found` for one that is unknown or another person's. */
export async function find(context: GatewayContext, stepId: string): Promise<StepRecord> {
  const step = isId('stp', stepId) ? await load(context, stepId) : undefined;
  if (step === undefined) throw new StepNotFound(String(stepId));
  return step;
}

export function createGrants(context: GatewayContext): Grants {
  const { store, scope, events } = context;
  return {
    async list() {
      requireOpen(context);
      return store.grants.list(scope);
    },
    async revoke(grantId) {
      requireOpen(context);
      if (!isId('grt', grantId)) return false;
      await audit(context, 'revoke', undefined, { by: context.person.subject, status: grantId });
      const removed = await store.grants.remove(grantId, scope);
      if (removed) events.emit('grant-revoked', { grant: grantId });
      else await auditConflict(context, 'revoke', undefined, grantId);
      return removed;
    },
  };
}
