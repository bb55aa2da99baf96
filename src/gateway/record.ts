import { isoTime } from '../clock.ts';
import { newId } from '../ids.ts';
import { canonicalJson, deepFreeze, type Json } from '../skill/json.ts';
import { utf8 } from '../skill/sha256.ts';
import type { StepEnd } from '../step/end.ts';
import type { StepRecord, StepState } from '../step/record.ts';
import { advance, type StepChange } from '../step/transitions.ts';
import { type AuditEntry, type AuditEvent, type AuditFacts, chainEntry } from '../store/audit.ts';
import { settleHold } from './allowance.ts';
import { compareAndSet, maxTries, tooOften } from './compare-and-set.ts';
import type { GatewayContext } from './context.ts';
import { summaryOf } from './outcome.ts';

// The events that say what a person saw or decided over.
const withValues: ReadonlySet<AuditEvent> = new Set(['ask', 'approve', 'edit']);

/**
 * Appends one entry to the person's chain, and answers its id. It rejects when the store fails: then the act must
 * not happen.
 *
 * @param facts `now`: what the clock showed when it was found that the act may be, default as it shows; a slow
 *   store between the two must not make of a decision in time a late one
 */
export async function audit(
  context: GatewayContext,
  event: AuditEvent,
  step: StepRecord | undefined,
  facts: Partial<Pick<AuditFacts, 'by' | 'job' | 'status'>> & { now?: number } = {},
): Promise<string> {
  const { store, scope, clock } = context;
  const entry: AuditFacts = {
    event,
    at: isoTime(facts.now ?? clock.now()),
    step: step?.id ?? null,
    digest: step?.digest ?? null,
    target: step?.target ?? null,
    argumentBytes: step ? utf8(JSON.stringify(step.run.arguments)).length : null,
    by: facts.by ?? null,
    job: facts.job ?? null,
    status: facts.status ?? null,
    arguments: context.auditValues && withValues.has(event) && step ? step.run.arguments : null,
  };
  const id = newId('aud', clock.now());
  await context.auditInTurn(() =>
    compareAndSet('The audit chain', async () => {
      const chained = deepFreeze(await chainEntry(scope, await store.audit.head(scope), id, entry));
      if (!(await store.audit.append(scope, chained))) return undefined;
      tellSink(context, chained);
      return true;
    }),
  );
  return id;
}

/** Says that what was written just before is not: another decision, or another record, was first. */
export async function auditConflict(
  context: GatewayContext,
  event: AuditEvent,
  step: StepRecord | undefined,
  by: string | null = null,
): Promise<void> {
  await audit(context, 'conflict', step, { by, status: event });
}

// What it does with an entry, and how long that takes, is its own affair.
function tellSink({ auditSink, events }: GatewayContext, entry: AuditEntry): void {
  if (auditSink === undefined) return;
  const failed = (error: unknown): void => events.emit('fault', { step: entry.step, error });
  try {
    Promise.resolve(auditSink(entry)).catch(failed);
  } catch (error) {
    failed(error);
  }
}

/** The step as stored, if it is this person's. */
export async function load(context: GatewayContext, id: string): Promise<StepRecord | undefined> {
  const step = await context.store.steps.get(id);
  const { subject, project } = context.scope;
  return step?.owner.subject === subject && step.owner.project === project ? step : undefined;
}

/** Stores the next revision of a step; `undefined` when another process was first. */
export async function save(
  context: GatewayContext,
  step: StepRecord,
  change: StepChange,
): Promise<StepRecord | undefined> {
  const next = advance(step, change);
  if (!(await update(context, next))) return lost(context, step);
  context.conflicts.delete(step.id);
  context.changed.emit(next.id, undefined);
  return next;
}

// Whoever lost looks again and goes on. A store that lets nobody win would keep this process at it for ever.
function lost({ conflicts }: GatewayContext, { id }: StepRecord): undefined {
  const times = (conflicts.get(id) ?? 0) + 1;
  conflicts.set(id, times);
  if (times < maxTries) return undefined;
  conflicts.delete(id);
  throw tooOften(`The step ${id}`);
}

// A store that wrote the revision and could not say so: it is the one that others see, so this one goes on from it.
async function update({ store }: GatewayContext, next: StepRecord): Promise<boolean> {
  try {
    return await store.steps.update(next);
  } catch (error) {
    const now = await store.steps.get(next.id).catch(() => undefined);
    if (now?.revision !== next.revision || !isSame(now, next)) throw error;
    return true;
  }
}

// In the form of a record that was stored.
function isSame(one: StepRecord, other: StepRecord): boolean {
  return canonicalJson(one as unknown as Json) === canonicalJson(JSON.parse(JSON.stringify(other)));
}

/** Tells that a step was decided. */
export function tellDecided(context: GatewayContext, step: StepRecord): void {
  if (step.decision === null) return;
  const { effect, via } = step.decision;
  context.events.emit('step-decided', { step: summaryOf(step), effect, via });
}

/**
 * Ends a step: audit, record, event. `undefined` when another process was first.
 *
 * @param now what the clock showed when it was found that it ends
 */
export async function finish(
  context: GatewayContext,
  step: StepRecord,
  state: StepState,
  end: Omit<StepEnd, 'at'>,
  auditAs: AuditEvent = 'end',
  now: number = context.clock.now(),
): Promise<StepRecord | undefined> {
  // A denial is the one end that is also a decision.
  const by = state === 'denied' ? (step.decision?.by ?? null) : null;
  const facts = { by, status: end.status, job: end.job?.id ?? null, now };
  const entry = await audit(context, auditAs, step, facts);
  const decision = state === 'denied' && step.decision ? { ...step.decision, entry } : step.decision;
  const ended = await save(context, step, {
    state,
    decision,
    end: { ...end, at: isoTime(now), entry },
    lease: null,
  });
  if (ended === undefined) {
    await auditConflict(context, auditAs, step, by);
    return undefined;
  }
  // The end is stored: what fails here stays held until the next step without room looks after it.
  await settleHold(context, ended).catch((error: unknown) => {
    context.events.emit('fault', { step: ended.id, error });
  });
  if (state === 'denied') tellDecided(context, ended);
  context.events.emit('step-finished', {
    step: summaryOf(ended),
    status: end.status,
    executed: end.executed,
  });
  return ended;
}
