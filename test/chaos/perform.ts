import { isSkillRunError } from '../../src/errors.ts';
import type { SkillGateway } from '../../src/gateway/gateway.ts';
import type { SkillSet } from '../../src/menu/skill-set.ts';
import type { Person } from '../../src/run/service.ts';
import { callOf } from './calls.ts';
import type { Got, Sent } from './evidence.ts';
import type { Act } from './schedule.ts';

/** What is done through a gateway. */
export type GatewayAct =
  | DecisionAct
  | Extract<Act, { readonly kind: 'call' } | { readonly kind: 'resume' }>
  | Extract<Act, { readonly kind: 'resumeAll' | 'revoke' | 'newTurn' }>;

type DecisionAct = Extract<
  Act,
  { readonly kind: 'approve' | 'always' | 'deny' | 'cancel' } | { readonly kind: 'edit' }
>;

/** Whom an act is done through, and who hears of it. */
export interface Doing {
  readonly gateway: SkillGateway;
  readonly skills: SkillSet;
  readonly person: Person;
  /** The step of a call; `undefined` where none came of it. */
  readonly stepOf: (call: number) => Promise<string | undefined>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly onSent: (sent: Sent) => unknown;
  readonly onGot: (got: Got) => void;
  /** An act of the person's or the model's begins, and one that ends what waits was done. */
  readonly onPhase: (phase: Phase) => void;
}

/** Where an act is. */
export type Phase =
  | { readonly kind: 'called'; readonly call: string }
  | { readonly kind: 'superseding' | 'superseded' };

export async function perform(act: GatewayAct, doing: Doing): Promise<void> {
  const { gateway, skills, onGot } = doing;
  switch (act.kind) {
    case 'call': {
      const stop = new AbortController();
      doing.onPhase({ kind: 'called', call: `c${act.call}` });
      if (act.abort !== undefined) void doing.sleep(act.abort).then(() => stop.abort());
      const outcome = await gateway.call(callOf(skills, act.call), {
        turn: 't',
        ...(act.abort !== undefined && { signal: stop.signal }),
      });
      onGot({ step: outcome.step?.id, outcome });
      break;
    }
    case 'resumeAll': {
      for (const outcome of (await gateway.resumeAll().catch(orRefused)) ?? []) {
        onGot({ step: outcome.step?.id, outcome });
      }
      break;
    }
    case 'revoke': {
      for (const { id } of (await gateway.grants.list().catch(orRefused)) ?? []) {
        await gateway.grants.revoke(id).catch(orRefused);
      }
      break;
    }
    case 'newTurn': {
      doing.onPhase({ kind: 'superseding' });
      try {
        await gateway.newTurn({ supersede: true });
        doing.onPhase({ kind: 'superseded' });
      } catch (error) {
        orRefused(error);
      }
      break;
    }
    case 'resume': {
      const step = await doing.stepOf(act.call);
      const outcome = step && (await gateway.resume(step).catch(orRefused));
      if (outcome) onGot({ step, outcome });
      break;
    }
    default:
      await decide(act, doing);
  }
}

async function decide(act: DecisionAct, doing: Doing): Promise<void> {
  const { gateway, person, onSent } = doing;
  const { kind } = act;
  const step = await doing.stepOf(act.call);
  if (step === undefined) return;
  const by = person.subject;
  const edited = act.kind === 'edit' ? { arguments: { title: act.title } } : {};
  const sent: Sent = { kind, step, ...edited, applied: 'unknown' };
  await onSent(sent);
  try {
    if (kind === 'cancel') await gateway.approvals.cancel(step);
    else if (kind === 'deny') await gateway.approvals.deny(step, { by });
    else await gateway.approvals.approve(step, { by, always: kind === 'always', ...edited });
    sent.applied = true;
  } catch (error) {
    orRefused(error);
    // A store that failed may have done it.
    if (isSkillRunError(error) && error.code !== 'store_unavailable') sent.applied = false;
  }
}

// A store that failed is what the schedule wants; a fault of the library's is not.
function orRefused(error: unknown): undefined {
  if (error instanceof TypeError || error instanceof RangeError) throw error;
  return undefined;
}
