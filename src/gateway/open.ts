import { rule } from '../approval/policy.ts';
import { isoTime } from '../clock.ts';
import { newId } from '../ids.ts';
import { deepFreeze } from '../skill/json.ts';
import { visible } from '../skill/text.ts';
import { digestOf, replayKeyOf, targetOf } from '../step/digest.ts';
import { stepSchema } from '../step/read.ts';
import type { StepRecord, StepRun } from '../step/record.ts';
import type { AuditEvent } from '../store/audit.ts';
import type { Grant } from '../store/grant.ts';
import type { GatewayContext } from './context.ts';
import { gatherFacts } from './facts.ts';
import { type CallRef, summaryOf } from './outcome.ts';
import { audit, auditConflict, finish, tellDecided } from './record.ts';
import { findGrant, findNarrower } from './stand.ts';

/**
 * Makes the step of a call, or finds the one that this call is a replay of. Policy is heard once, before
 * anything is stored, and the step is stored in the state that policy, level and grants put it in.
 *
 * @param hasId whether the provider gave the call an id; a call without one is never a replay
 */
export async function openStep(
  context: GatewayContext,
  call: CallRef,
  hasId: boolean,
  turn: string,
  run: StepRun,
): Promise<StepRecord> {
  const { owner, session, store, clock } = context;
  const digest = await digestOf(owner, run);
  const replayKey = hasId ? await replayKeyOf(session, turn, call.id, digest) : null;
  const earlier = replayKey === null ? undefined : await store.steps.findReplay(replayKey);
  if (earlier !== undefined) return earlier;

  const now = clock.now();
  const asked: StepRecord = {
    schema: stepSchema,
    id: newId('stp', now),
    revision: 1,
    state: 'pending',
    owner,
    session,
    turn,
    call,
    replayKey,
    run,
    digest,
    target: targetOf(run),
    why: '',
    canAlways: true,
    facts: null,
    createdAt: now,
    expiresAt: now + context.approvalExpiryMs,
    decision: null,
    edited: null,
    hold: null,
    attempts: [],
    lease: null,
    cancelAsked: false,
    end: null,
  };
  // Frozen, so that a policy cannot change what it rules on.
  const ruling = await ruled(context, deepFreeze(asked));
  const { event, by } = entryOf(ruling);
  const entry = await audit(context, event, ruling, { by, now });
  const decision = ruling.decision && { ...ruling.decision, entry };
  const { step, created } = await create(context, { ...ruling, decision });
  if (!created) {
    await auditConflict(context, event, ruling, by);
    return step;
  }
  if (step.state === 'pending' && (await isOneTooMany(context, step))) {
    return (await refuseAsked(context, step)) ?? step;
  }
  tell(context, step);
  return step;
}

/** A new step of which the store could not say whether it has it. */
export class UnsureIfStored extends Error {
  readonly step: StepRecord;

  constructor(step: StepRecord, cause: unknown) {
    super(`Whether the step ${step.id} is stored is not known.`, { cause });
    this.name = 'UnsureIfStored';
    this.step = step;
  }
}

// A store that wrote the step and could not say so: what is there would run at the next resume, so it goes on
// here. That its id is known says that it is this one.
async function create(
  { store }: GatewayContext,
  step: StepRecord,
): Promise<{ created: boolean; step: StepRecord }> {
  try {
    return await store.steps.create(step);
  } catch (error) {
    const found = await store.steps.get(step.id).catch(() => {
      throw new UnsureIfStored(step, error);
    });
    if (found === undefined) throw error;
    return { created: true, step };
  }
}

// What the audit says of a new step, and by whom it is as it is.
function entryOf({ state, decision, end }: StepRecord): { event: AuditEvent; by: string | null } {
  const by = decision?.by ?? end?.code ?? null;
  if (state === 'approved') return { event: 'approve', by };
  if (state === 'denied') return { event: 'deny', by };
  return { event: state === 'refused' ? 'refuse' : 'ask', by };
}

// Counted after the step is stored: of many calls at once, in any processes, no more than the limit stay.
async function isOneTooMany(context: GatewayContext, step: StepRecord): Promise<boolean> {
  const waiting = await agentsPending(context);
  return waiting.findIndex((other) => other.id === step.id) >= context.maxPending;
}

function refuseAsked(context: GatewayContext, step: StepRecord): Promise<StepRecord | undefined> {
  return finish(context, step, 'refused', refusal(tooMany, enough(context)), 'refuse');
}

const tooMany = 'too-many-pending';

function enough({ maxPending }: GatewayContext): string {
  return `${maxPending} steps wait for a decision already.`;
}

function refusal(by: string, reason: string) {
  const message = `Refused by the rule ${JSON.stringify(visible(by))}: ${visible(reason)} Nothing ran.`;
  return { status: 'refused', executed: false, code: by, message } as const;
}

async function ruled(context: GatewayContext, asked: StepRecord): Promise<StepRecord> {
  const at = isoTime(asked.createdAt);
  // First of all: what a person has said of exactly this call stands until they speak again.
  const denials = await denialsOf(context, asked);
  if (denials >= context.maxRepeatDenials) return deniedAgain(asked, denials);
  const pending = (await agentsPending(context)).length;
  const { told, facts } = await gatherFacts(context, asked, pending);
  const ruling = await rule(asked, told, context.policy);
  const heard: StepRecord = { ...asked, facts: facts() };
  if (ruling.effect === 'refuse') return refused(heard, ruling.rule, ruling.reason);
  if (ruling.effect === 'allow') {
    const decision = { effect: 'approve', via: 'policy', by: ruling.rule, reason: ruling.reason } as const;
    return { ...heard, state: 'approved', decision: { ...decision, at } };
  }
  const step = { ...heard, why: ruling.why, canAlways: ruling.canAlways };
  const grant = await coveredBy(context, step);
  if (grant === 'narrower') return refused(step, 'net-widened', widened);
  if (grant !== undefined) {
    return { ...step, state: 'approved', decision: { effect: 'approve', via: 'grant', by: grant.id, at } };
  }
  return pending < context.maxPending ? step : refused(step, tooMany, enough(context));
}

const widened =
  'This very version was allowed always with a narrower network, and a published version does not change. Revoke that grant to be asked, or install another version.';

// A grant is an "always" of the person's: it answers no ask that forbids one, also where it is of before that. Where
// grants cannot be read the person is asked, as if there were none.
async function coveredBy(context: GatewayContext, step: StepRecord): Promise<Grant | 'narrower' | undefined> {
  try {
    const grant = step.canAlways ? await findGrant(context, step) : undefined;
    if (grant !== undefined) return grant;
    return (await findNarrower(context, step)) === undefined ? undefined : 'narrower';
  } catch (error) {
    context.events.emit('fault', { step: step.id, error });
    return undefined;
  }
}

function denialsOf({ store, scope }: GatewayContext, step: StepRecord): Promise<number> {
  const { session, turn, digest } = step;
  return store.steps.count({ scope, session, turn, digest, state: 'denied' });
}

function deniedAgain(step: StepRecord, denials: number): StepRecord {
  const by = 'repeated-denial';
  const at = isoTime(step.createdAt);
  const message = `Exactly this call was denied ${denials} times in this turn: it was denied without asking again. Nothing ran. Do not call it again unless the person asks for it.`;
  return {
    ...step,
    state: 'denied',
    decision: { effect: 'deny', via: 'policy', by, at },
    end: { status: 'denied', executed: false, code: by, message, at },
  };
}

function refused(step: StepRecord, by: string, reason: string): StepRecord {
  return { ...step, state: 'refused', end: { ...refusal(by, reason), at: isoTime(step.createdAt) } };
}

function tell(context: GatewayContext, step: StepRecord): void {
  const summary = summaryOf(step);
  if (step.state === 'pending') context.events.emit('step-pending', { step: summary });
  tellDecided(context, step);
  if (step.end !== null) {
    context.events.emit('step-finished', {
      step: summary,
      status: step.end.status,
      executed: step.end.executed,
    });
  }
}

async function agentsPending(context: GatewayContext): Promise<readonly StepRecord[]> {
  return (await pendingSteps(context)).filter(({ owner }) => owner.agent === context.agent);
}

/** The steps of this person that wait for a decision and have not expired. */
export async function pendingSteps(context: GatewayContext): Promise<readonly StepRecord[]> {
  const open = await context.store.steps.open(context.scope);
  const now = context.clock.now();
  return open.filter((step) => step.state === 'pending' && now < step.expiresAt);
}
