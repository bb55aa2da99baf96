import type { StepRecord } from '../../src/step/record.ts';
import type { Effect } from './chaos-store.ts';
import type { Evidence } from './evidence.ts';
import { didRun, jobsOf } from './judge.ts';

/** What ran, or was ended, though nobody decided so. */
export function wrongDecisions(evidence: Evidence): string[] {
  return evidence.steps.flatMap((step) => [...unasked(step, evidence), ...forgotten(step, evidence)]);
}

const timely = ['approve', 'deny', 'submit'];
const neverRuns = ['pending', 'denied', 'expired', 'cancelled', 'superseded', 'refused'];

function unasked(step: StepRecord, { jobs, sent, audit, effects = [] }: Evidence): string[] {
  const found: string[] = [];
  const made = jobsOf(jobs, step.id);
  const { decision, end, expiresAt } = step;
  const tell = (what: string): void => void found.push(`${step.id}: ${what}`);
  if (made.some(didRun) && neverRuns.includes(step.state)) tell(`it is ${step.state}, and its job ran`);
  // A grant may have been revoked between two tiers: then the job of the first did not run, and it is asked again.
  if (made.some(didRun) && decision?.effect !== 'approve') tell('its job ran, and it is not approved');
  if (effects.some((effect) => isUnapproved(effect, step.id)))
    tell('an attempt was recorded without an approval');
  if (decision !== null && !wasSent(step, { sent })) tell(`nobody sent the ${decision.effect} that it has`);
  if (
    decision?.via === 'grant' &&
    !audit.some(({ event, status }) => event === 'grant' && status === decision.by)
  ) {
    tell('approved by a grant that nobody made');
  }
  const late = audit.filter(
    ({ event, step: id, at }) => timely.includes(event) && id === step.id && Date.parse(at) >= expiresAt,
  );
  for (const { event } of late) tell(`${event} after it had expired`);
  // By the time of its audit: the clock may have gone back since.
  const isDue = audit.some(
    ({ event, step: id, at }) => event === 'expire' && id === step.id && Date.parse(at) >= expiresAt,
  );
  if (end?.status === 'expired' && !isDue) tell('expired before its time');
  if (end?.status === 'cancelled' && !sent.some((one) => one.step === step.id && one.kind === 'cancel')) {
    // An aborted call and a job that ends cancelled by itself are no decisions of anybody's.
    if (end.job === undefined && step.call.id !== 'c0') tell('cancelled, though nobody asked for it');
  }
  return found;
}

function isUnapproved(effect: Effect, id: string): boolean {
  if (effect.kind !== 'updated' || effect.step.id !== id) return false;
  const { decision, attempts } = effect.step;
  return attempts.some(({ state }) => state === 'open') && decision?.effect !== 'approve';
}

function wasSent({ id, decision }: StepRecord, { sent }: Pick<Evidence, 'sent'>): boolean {
  if (decision?.via !== 'person') return true;
  const kinds = decision.effect === 'approve' ? ['approve', 'always'] : ['deny'];
  return sent.some((one) => one.step === id && one.applied !== false && kinds.includes(one.kind));
}

function forgotten(step: StepRecord, { sent }: Evidence): string[] {
  const applied = sent.filter((one) => one.step === step.id && one.applied === true);
  const found: string[] = [];
  for (const { kind } of applied) {
    const isKept =
      kind === 'cancel'
        ? step.cancelAsked || step.end !== null
        : step.decision?.effect === (kind === 'deny' ? 'deny' : 'approve');
    if (!isKept) found.push(`${step.id}: the ${kind} that was said to be applied is not in its record`);
  }
  return found;
}

/** Submits under a grant that was gone when it was last looked for, or was not looked for at all. */
export function wrongGrants({ effects = [] }: Evidence): string[] {
  const found: string[] = [];
  for (const [at, effect] of effects.entries()) {
    if (effect.kind !== 'updated') continue;
    const { step, life } = effect;
    if (step.decision?.via !== 'grant') continue;
    const grant = step.decision.by;
    const before = effects.slice(0, at);
    const previous = before.findLast((one): one is Effect & { kind: 'updated' } => isOf(one, step.id));
    if (step.attempts.length <= (previous?.step.attempts.length ?? 0)) continue;
    const removed = before.findIndex((one) => one.kind === 'removed' && one.grant === grant);
    const looked = before.findLastIndex((one) => one.kind === 'looked' && one.life === life);
    const leased = before.findLastIndex((one) => isOf(one, step.id));
    if (removed >= 0 && (looked < leased || removed < looked)) {
      found.push(`${step.id}: submitted under ${grant}, which had been revoked before`);
    }
  }
  return found;
}

function isOf(effect: Effect, id: string): boolean {
  return (effect.kind === 'created' || effect.kind === 'updated') && effect.step.id === id;
}
