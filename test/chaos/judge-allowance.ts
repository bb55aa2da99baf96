import type { StepRecord } from '../../src/step/record.ts';
import type { AllowanceRecord } from '../../src/store/allowance.ts';
import { lastCall } from './calls.ts';
import type { Effect } from './chaos-store.ts';
import type { Evidence } from './evidence.ts';
import { didRun, jobsOf } from './judge.ts';
import type { MadeJob } from './network.ts';

/** Seconds that were charged more than once, and seconds that were not charged or are held for good. */
export function miscounted(evidence: Evidence): { twice: string[]; never: string[] } {
  const { steps, jobs, accounts } = evidence;
  // By this call's look alone is what processes that died have left looked after.
  const swept = steps.find(({ call }) => call.id === `c${lastCall}`)?.hold?.key;
  const [twice, never]: [string[], string[]] = [[], []];
  for (const { key, spent, held } of accounts) {
    const settled = steps.filter(({ id, hold }) => hold?.key === key && !Object.hasOwn(held, id));
    const right = settled.reduce((sum, step) => sum + secondsOf(step, jobsOf(jobs, step.id)), 0);
    const what = `${key}: ${spent} seconds are spent, and ${right} were run`;
    if (spent > right + 0.0005) twice.push(what);
    if (spent < right - 0.0005) never.push(what);
    for (const { id, end } of steps) {
      if (key === swept && end !== null && Object.hasOwn(held, id))
        never.push(`${id}: ended, and still held`);
    }
  }
  return { twice, never };
}

// By Run's own words: what it metered, and no more than it was told to stop at.
function secondsOf({ end, hold }: StepRecord, made: readonly MadeJob[]): number {
  if (end === null || hold === null || end.executed === false) return 0;
  const ran = made.find(({ job }) => job.id === end.job?.id);
  if (end.executed === 'unknown' || ran === undefined) return hold.seconds;
  return Math.min(ran.job.usage.seconds, hold.seconds);
}

/** Runs that nothing was held for, accounts over their ceiling, and runs that were refused though there was room. */
export function wrongHolds(evidence: Evidence): string[] {
  const { steps, jobs, accounts, ceiling, effects = [] } = evidence;
  if (ceiling === null) return [];
  const changes = effects.filter((one): one is Effect & { kind: 'charged' } => one.kind === 'charged');
  const mostUsed = Math.max(0, ...changes.map(({ account }) => used(account)));
  const found = changes
    .filter(({ account }) => used(account) > ceiling + 0.0005)
    .map(({ account }) => `${account.key}: ${used(account)} seconds of ${ceiling} at ${account.revision}`);
  for (const step of steps) {
    const { id, hold, end, call } = step;
    const tell = (what: string): void => void found.push(`${id}: ${what}`);
    if (jobsOf(jobs, id).some(didRun) && hold === null) tell('it ran, and nothing was held for it');
    const seconds = accounts.find(({ key }) => key === hold?.key)?.held[id];
    if (seconds !== undefined && seconds !== hold?.seconds) tell(`${seconds} seconds are held for it`);
    if (effects.length === 0) continue;
    if (submitsUnheld(step, effects)) tell('it was submitted, and nothing was held for it');
    const isRefused = end?.status === 'allowance_exhausted' && call.id !== `c${lastCall}`;
    if (isRefused && mostUsed + (hold?.seconds ?? 0) <= ceiling) tell('refused, and there was room for it');
  }
  return found;
}

function used({ spent, held }: AllowanceRecord): number {
  return Object.values(held).reduce((sum, seconds) => sum + seconds, spent);
}

function submitsUnheld({ id }: StepRecord, effects: readonly Effect[]): boolean {
  return effects.some((effect, at) => {
    if (effect.kind !== 'updated' || effect.step.id !== id || effect.step.state !== 'submitting')
      return false;
    const { attempts, hold } = effect.step;
    if (attempts.at(-1)?.job !== null) return false;
    const accounts = effects
      .slice(0, at)
      .flatMap((one) => (one.kind === 'charged' && one.account.key === hold?.key ? [one.account] : []));
    const latest = accounts.sort((a, b) => a.revision - b.revision).at(-1);
    return latest === undefined || !Object.hasOwn(latest.held, id);
  });
}
