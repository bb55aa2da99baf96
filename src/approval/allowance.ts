import { isoTime } from '../clock.ts';
import type { StepEnd } from '../step/end.ts';
import type { StepOwner, StepRecord } from '../step/record.ts';
import type { AllowanceRecord } from '../store/allowance.ts';

// Ours, from ADR-060 (HO7).

/** How much an agent may run while it works alone. */
export interface Allowance {
  /** Metered seconds a period: a whole number of at least 1. */
  readonly seconds: number;
  /** Calendar periods in UTC: an hour, a day, a week from Monday, a month. */
  readonly period: AllowancePeriod;
}

/** A calendar period in UTC; a week begins on Monday. */
export type AllowancePeriod = 'hour' | 'day' | 'week' | 'month';

/** Every {@link AllowancePeriod}. */
export const allowancePeriods: readonly AllowancePeriod[] = ['hour', 'day', 'week', 'month'];

/**
 * The period that holds a moment: its first, and the first of the next one, at which the allowance renews.
 *
 * @param now milliseconds since 1970, as are the answers
 */
export function periodOf(period: AllowancePeriod, now: number): { start: number; renews: number } {
  const at = new Date(now);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  switch (period) {
    case 'hour': {
      const start = Date.UTC(year, month, day, at.getUTCHours());
      return { start, renews: start + 3_600_000 };
    }
    case 'day':
      return { start: Date.UTC(year, month, day), renews: Date.UTC(year, month, day + 1) };
    case 'week': {
      const monday = day - ((at.getUTCDay() + 6) % 7);
      return { start: Date.UTC(year, month, monday), renews: Date.UTC(year, month, monday + 7) };
    }
    case 'month':
      return { start: Date.UTC(year, month), renews: Date.UTC(year, month + 1) };
  }
}

/** Names the account of one agent in one period. Each part is a JSON string, so no two accounts share a key. */
export function allowanceKeyOf(owner: StepOwner, period: AllowancePeriod, now: number): string {
  const { subject, project, agent } = owner;
  return JSON.stringify([
    'allowance@1',
    subject,
    project,
    agent,
    period,
    isoTime(periodOf(period, now).start),
  ]);
}

/** The most that a run can be charged: seconds are metered by the wall clock, and a Run stops it at `wall_ms`. */
export function worstCaseOf({ run }: Pick<StepRecord, 'run'>): number {
  return Math.ceil(run.limits.wall_ms / 1000);
}

/** Seconds of an account that are gone, or may be: what was spent, and the worst case of what is on its way. */
export function usedOf(record: AllowanceRecord | undefined): number {
  if (record === undefined) return 0;
  return inMs(Object.values(record.held).reduce((sum, seconds) => sum + seconds, record.spent));
}

/** The account with a step's worst case held; `undefined` where that does not fit under the ceiling. */
export function withHold(
  record: AllowanceRecord | undefined,
  key: string,
  step: string,
  seconds: number,
  ceiling: number,
): AllowanceRecord | undefined {
  if (usedOf(record) + seconds > ceiling) return undefined;
  const { revision = 0, spent = 0, held = {} } = record ?? {};
  return { schema: 1, key, revision: revision + 1, spent, held: { ...held, [step]: seconds } };
}

/** The account with what steps held given back, and what each of them spent counted in its stead. */
export function withoutHolds(record: AllowanceRecord, spent: ReadonlyMap<string, number>): AllowanceRecord {
  const held = Object.fromEntries(Object.entries(record.held).filter(([step]) => !spent.has(step)));
  const sum = [...spent].reduce(
    (all, [step, seconds]) => (Object.hasOwn(record.held, step) ? all + seconds : all),
    record.spent,
  );
  return { schema: 1, key: record.key, revision: record.revision + 1, spent: inMs(sum), held };
}

/**
 * What an ended step is charged: nothing where its tool did not run, all that it held where nobody can say, and
 * else what Run metered. That is never more than it held, whatever a Run says: it was told to stop it there.
 */
export function chargeOf({ executed, job }: Pick<StepEnd, 'executed' | 'job'>, held: number): number {
  if (executed === false) return 0;
  const metered = job?.seconds ?? Number.NaN;
  return executed === true && metered >= 0 ? Math.min(metered, held) : held;
}

// Sums of fractions drift; Run meters by the millisecond.
function inMs(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
