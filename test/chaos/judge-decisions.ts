import { canonicalJson } from '../../src/skill/json.ts';
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
  const kinds = decision.effect === 'approve' ? ['approve', 'always', 'edit'] : ['deny'];
  return sent.some((one) => one.step === id && one.applied !== false && kinds.includes(one.kind));
}

function forgotten(step: StepRecord, { sent }: Evidence): string[] {
  const applied = sent.filter((one) => one.step === step.id && one.applied === true);
  const found: string[] = [];
  for (const { kind, arguments: edited } of applied) {
    const isKept =
      kind === 'cancel'
        ? step.cancelAsked || step.end !== null
        : step.decision?.effect === (kind === 'deny' ? 'deny' : 'approve');
    const isEdit = edited === undefined || canonicalJson(edited) === canonicalJson(step.run.arguments);
    if (!isEdit) found.push(`${step.id}: it would run with other arguments than those that were applied`);
    if (!isKept) found.push(`${step.id}: the ${kind} that was said to be applied is not in its record`);
  }
  return found;
}

/** Submits under a grant that was gone when it was last looked for, or was not looked for at all. */
export function wrongGrants({ effects, told = [] }: Evidence): string[] {
  const known = effects ?? told;
  const found: string[] = [];
  for (const [at, effect] of known.entries()) {
    if (effect.kind !== 'updated') continue;
    const { step, life } = effect;
    if (step.decision?.via !== 'grant') continue;
    const grant = step.decision.by;
    const before = known.slice(0, at);
    // A life that submits has stored the revision before: its lease, or what became of the attempt before.
    const leased = before.findIndex(
      (one) => isOf(one, step.id) && one.life === life && one.step.revision === step.revision - 1,
    );
    const lease = before[leased];
    if (lease?.kind !== 'updated' || step.attempts.length <= lease.step.attempts.length) continue;
    const removed = before.findIndex((one) => one.kind === 'removed' && one.grant === grant);
    const made = known.find((one) => one.kind === 'granted' && one.grant === grant);
    const key = made?.kind === 'granted' ? made.key : undefined;
    // The first look since is its own, or one of another step's before it.
    const looked = before.findIndex(
      (one, n) => n > leased && one.kind === 'looked' && one.life === life && one.key === (key ?? one.key),
    );
    if (removed >= 0 && (looked < 0 || removed < looked)) {
      found.push(`${step.id}: submitted under ${grant}, which had been revoked before`);
    }
  }
  return found;
}

function isOf(effect: Effect, id: string): effect is Effect & { kind: 'created' | 'updated' } {
  return (effect.kind === 'created' || effect.kind === 'updated') && effect.step.id === id;
}
