import { isSkillRunError } from '../errors.ts';
import { untrusted } from '../result/untrusted.ts';
import type { Json } from '../skill/json.ts';
import type { JobSummary } from '../step/end.ts';
import type { StepRecord } from '../step/record.ts';
import type { Acted } from './act.ts';
import type { GatewayContext } from './context.ts';
import { differing, runContext } from './move.ts';
import { type CallRef, editedOf, machineOffer, type Outcome, summaryOf } from './outcome.ts';
import { load } from './record.ts';
import { settle } from './settle.ts';

/** The outcome of a call whose step stands where {@link act} left it. */
export async function outcomeOf(
  context: GatewayContext,
  call: CallRef,
  id: string,
  acted: Acted | { kind: 'aborted' },
): Promise<Outcome> {
  if (acted.kind === 'pending') return awaiting(context, call, acted.step);
  if (acted.kind === 'ended') return ended(context, call, acted.step);
  const step = await load(context, id);
  // It may have ended while this looked.
  if (step?.end) return ended(context, call, step);
  const base = {
    call,
    durable: context.store.durable,
    ...(step && { step: summaryOf(step), ...jobOf(step), ...editedOf(step) }),
  };
  if (acted.kind === 'aborted') {
    const message = 'The caller cancelled. Whether the tool ran is not known; the job was asked to end.';
    return { ...base, status: 'cancelled', executed: 'unknown', message };
  }
  if (step?.state === 'pending') return awaiting(context, call, step);
  return {
    ...base,
    status: 'outcome_unknown',
    executed: 'unknown',
    message: acted.message,
    ...(acted.code !== undefined && { code: acted.code }),
    ...(acted.detail !== undefined && { detail: untrusted(acted.detail) }),
  };
}

function awaiting(context: GatewayContext, call: CallRef, step: StepRecord): Outcome {
  return {
    status: 'awaiting_approval',
    call,
    executed: false,
    durable: context.store.durable,
    step: summaryOf(step),
    ...editedOf(step),
    message: 'The person has to decide first. Nothing has run.',
  };
}

async function ended(context: GatewayContext, call: CallRef, step: StepRecord): Promise<Outcome> {
  const { end } = step;
  if (end === null) throw new TypeError(`The step ${step.id} is ${step.state} and has no end.`);
  const base = {
    call,
    durable: context.store.durable,
    step: summaryOf(step),
    message: end.message,
    ...(end.code !== undefined && { code: end.code }),
    ...(end.detail !== undefined && { detail: untrusted(end.detail) }),
    ...(end.job !== undefined && { job: end.job }),
    ...editedOf(step),
  };
  if (end.status === 'no_node') return { ...base, status: 'no_node', executed: false, offer: machineOffer };
  if (end.status !== 'completed') return { ...base, status: end.status, executed: end.executed };
  const kept = context.values.get(step.id) ?? (await fetchAgain(context, step));
  if (kept !== undefined) {
    return { ...base, status: 'completed', executed: true, value: untrusted(kept.value) };
  }
  const message = 'This call ran before, and its result can no longer be had. It was not run again.';
  return { ...base, status: 'duplicate_call', executed: true, message };
}

// The result is not in the record. Run may still have it; what it answers is compared as the first time.
async function fetchAgain(context: GatewayContext, step: StepRecord): Promise<{ value: Json } | undefined> {
  const attempt = step.attempts.at(-1);
  const service = context.services.find((one) => one.id === attempt?.service);
  if (service === undefined || attempt === undefined || attempt.job === null) return undefined;
  try {
    const job = await service.get(attempt.job, runContext(context));
    if (job.id !== attempt.job) return undefined;
    if (job.placement?.node !== step.end?.job?.node || differing(context, step, attempt, job).length > 0)
      return undefined;
    const { value } = settle(job, attempt.tier);
    if (value !== undefined) context.values.set(step.id, value.value);
    return value;
  } catch (error) {
    if (!isSkillRunError(error)) throw error;
    return undefined;
  }
}

/** What the record itself says of the step's job. */
export function jobOf(step: StepRecord): { job?: JobSummary } {
  const attempt = step.attempts.findLast((one) => one.job !== null);
  if (attempt === undefined || attempt.job === null) return {};
  const unknown = { node: null, wallMs: 0, cpuMs: null, memPeakBytes: null, seconds: 0, exit: null };
  return { job: { id: attempt.job, tier: attempt.tier, ...unknown } };
}
