import { AlwaysNotAllowed, type Decision, StepAlreadyDecided } from '../approval/decision.ts';
import { isoTime } from '../clock.ts';
import { SkillRunError } from '../errors.ts';
import { newId } from '../ids.ts';
import { visible } from '../skill/text.ts';
import { digestOf } from '../step/digest.ts';
import type { StepDecision, StepRecord } from '../step/record.ts';
import { type Grant, grantKeyOf, grantScopeOf } from '../store/grant.ts';
import type { GatewayContext } from './context.ts';
import { type Edit, readEdit } from './edit.ts';
import { audit, auditConflict, finish, save, tellDecided } from './record.ts';

const maxReason = 500;

/** What became of a decision. */
export interface Decided {
  readonly step: StepRecord;
  /** With "always": the grant, or `'failed'` when it could not be written and the step runs just once. */
  readonly grant?: Grant | 'failed';
}

/**
 * Applies a person's decision to a pending step, once.
 *
 * @param digest what was shown to the person, of before an edit
 * @throws {@link StepAlreadyDecided}, {@link AlwaysNotAllowed}, `step_expired`, `step_digest_mismatch`,
 *   `arguments_invalid`, `edit_refused`
 */
export async function applyDecision(
  context: GatewayContext,
  step: StepRecord,
  decision: Decision,
  digest?: string,
): Promise<Decided> {
  if (step.state !== 'pending') throw new StepAlreadyDecided(step);
  const now = context.clock.now();
  if (await expireIfDue(context, step, now)) {
    throw new SkillRunError(
      'step_expired',
      `The step ${step.id} has expired. Let the model call the tool again.`,
    );
  }
  if ((await digestOf(step.owner, step.run)) !== step.digest || (digest ?? step.digest) !== step.digest) {
    throw new SkillRunError(
      'step_digest_mismatch',
      `The step ${step.id} is not what was shown. Nothing was decided.`,
    );
  }
  const always = decision.decision === 'approve' && decision.always === true;
  if (always && !step.canAlways) throw new AlwaysNotAllowed(step);
  const edit =
    decision.decision === 'approve' && decision.arguments !== undefined
      ? await readEdit(context, step, decision.arguments)
      : undefined;
  // What policy forbids of the step as it will run, it forbids.
  if (always && edit?.ruling.canAlways === false) throw new AlwaysNotAllowed(step);
  const decided =
    decision.decision === 'approve'
      ? await approve(context, step, now, decision.reason, edit)
      : await deny(context, step, now, decision.reason);
  if (decided === undefined) {
    throw new StepAlreadyDecided((await context.store.steps.get(step.id)) ?? step);
  }
  return always ? { step: decided, grant: await makeGrant(context, decided) } : { step: decided };
}

function personDecision(
  context: GatewayContext,
  effect: StepDecision['effect'],
  now: number,
  reason: string | undefined,
): StepDecision {
  const said = reason === undefined ? {} : { reason: visible(reason.slice(0, maxReason)) };
  return { effect, via: 'person', by: context.person.subject, at: isoTime(now), ...said };
}

async function approve(
  context: GatewayContext,
  step: StepRecord,
  now: number,
  reason: string | undefined,
  edit: Edit | undefined,
): Promise<StepRecord | undefined> {
  const by = context.person.subject;
  const approved = { ...step, ...edit?.change };
  if (edit !== undefined) await audit(context, 'edit', step, { by, status: edit.change.digest, now });
  const entry = await audit(context, 'approve', approved, { by, now });
  const decided = await save(context, step, {
    state: 'approved',
    decision: { ...personDecision(context, 'approve', now, reason), entry },
    ...edit?.change,
  });
  if (decided === undefined) await auditConflict(context, 'approve', approved, by);
  else tellDecided(context, decided);
  return decided;
}

function deny(
  context: GatewayContext,
  step: StepRecord,
  now: number,
  reason: string | undefined,
): Promise<StepRecord | undefined> {
  const decision = personDecision(context, 'deny', now, reason);
  const said = decision.reason === undefined ? '' : ` The person said: ${JSON.stringify(decision.reason)}`;
  const message = `The person refused this run. Nothing ran. Do not call it again unless they ask for it.${said}`;
  return finish(
    context,
    { ...step, decision },
    'denied',
    { status: 'denied', executed: false, message },
    'deny',
    now,
  );
}

async function makeGrant(context: GatewayContext, step: StepRecord): Promise<Grant | 'failed'> {
  const by = context.person.subject;
  const now = context.clock.now();
  const id = newId('grt', now);
  try {
    const scope = grantScopeOf(step);
    const key = await grantKeyOf(scope);
    await audit(context, 'grant', step, { by, status: id });
    const grant = await putGrant(context, {
      schema: 1,
      id,
      scope,
      key,
      by,
      step: step.id,
      createdAt: isoTime(now),
    });
    // One of before covers it as well, and stays the only one.
    if (grant.id !== id) await auditConflict(context, 'grant', step, id);
    context.events.emit('grant-created', { grant: grant.id, step: step.id });
    return grant;
  } catch (error) {
    await auditConflict(context, 'grant', step, id).catch(() => undefined);
    context.events.emit('grant-failed', { step: step.id, error });
    return 'failed';
  }
}

// A store that wrote the grant and could not say so: what is there lets the next call run, so it is said to be made.
async function putGrant({ store }: GatewayContext, grant: Grant): Promise<Grant> {
  try {
    return await store.grants.put(grant);
  } catch (error) {
    const found = await store.grants.find(grant.key).catch(() => undefined);
    if (found === undefined) throw error;
    return found;
  }
}

/** Ends a pending or approved step whose time is over. Whether its time is over. */
export async function expireIfDue(
  context: GatewayContext,
  step: StepRecord,
  now: number = context.clock.now(),
): Promise<boolean> {
  if (now < step.expiresAt) return false;
  await expire(context, step, now);
  return true;
}

/** Ends a step whose time is over and of which nothing is submitted. */
export function expire(
  context: GatewayContext,
  step: StepRecord,
  now: number,
): Promise<StepRecord | undefined> {
  const message =
    step.decision === null
      ? 'Nobody decided in time: the request has expired. Nothing ran.'
      : 'The approval was not used in time: it has expired. Nothing ran.';
  const state = step.attempts.length === 0 ? 'expired' : 'ended';
  return finish(context, step, state, { status: 'expired', executed: false, message }, 'expire', now);
}

/** Ends a pending step where there is nobody to ask, ever; else the step as it is. */
export async function unlessNobody(context: GatewayContext, step: StepRecord): Promise<StepRecord> {
  if (context.approver !== 'none' || step.state !== 'pending') return step;
  const message = 'The person would have to decide, and there is nobody to ask. Nothing ran.';
  return (await cancelStep(context, step, 'no_approver', message)) ?? step;
}

/** Ends the pending steps of this agent in this session: the person went on without deciding. */
export async function supersede(context: GatewayContext): Promise<void> {
  const { store, scope, session, agent } = context;
  for (const step of await store.steps.open(scope)) {
    if (step.state !== 'pending' || step.session !== session || step.owner.agent !== agent) continue;
    if (await expireIfDue(context, step)) continue;
    const message = 'The person went on without deciding, so it is no longer asked for. Nothing ran.';
    const state = step.attempts.length === 0 ? 'superseded' : 'ended';
    await finish(context, step, state, { status: 'superseded', executed: false, message }, 'cancel');
  }
}

/** Ends a step of which nothing is submitted. */
export function cancelStep(
  context: GatewayContext,
  step: StepRecord,
  status: 'cancelled' | 'no_approver',
  message: string,
): Promise<StepRecord | undefined> {
  const state = step.attempts.length === 0 ? 'cancelled' : 'ended';
  return finish(context, step, state, { status, executed: false, message }, 'cancel');
}
