import { jobTtlMs } from '../run/job-request.ts';
import { awaitPlacement, checkPlacement, neverStarted, type Target, withdraw } from '../run/place.ts';
import { isEnd, type Job } from '../run/wire.ts';
import type { StepAttempt, StepRecord } from '../step/record.ts';
import { differing, isCancelled, type Move, runContext, type Unknown, untried, withLast } from './move.ts';
import { audit, finish, save } from './record.ts';
import { jobSummary, settle } from './settle.ts';

const followBudgetMs = jobTtlMs + 30_000;

const overBudget: Unknown = {
  kind: 'unknown',
  code: 'follow-budget',
  message: 'The job did not end in the time that this library follows one. It may still run.',
};

/** A step, its last attempt, the job of that and where it was submitted. */
export interface Following {
  readonly step: StepRecord;
  readonly attempt: StepAttempt;
  readonly jobId: string;
  readonly target: Target;
}

/** Follows the job of the last attempt: to its end, or, while it is on no node, to the next target. */
export async function followJob(move: Move, following: Following): Promise<Unknown | undefined> {
  const { context, cancelled } = move;
  const { step, jobId, target } = following;
  const stop = (): void => move.cancelJob(target, jobId);
  if (isCancelled(move, step)) stop();
  else cancelled.addEventListener('abort', stop, { once: true });
  try {
    const other = (await untried(context, step)).target;
    const waitMs = other === undefined ? followBudgetMs : context.placementWaitMs;
    const placed = await awaitPlacement(target.service, jobId, { context: runContext(context), waitMs });
    if (placed.kind !== 'not-placed') return await toTheEnd(move, following, placed.job);
    if (other === undefined) return overBudget;
    await audit(context, 'withdraw', step, { job: jobId });
    await save(context, step, { attempts: withLast(step, { state: 'withdrawing' }) });
    return undefined;
  } finally {
    cancelled.removeEventListener('abort', stop);
  }
}

/** Goes on with an attempt that was asked to end: nothing else is submitted before its end is proven. */
export async function takeBack(move: Move, following: Following): Promise<Unknown | undefined> {
  const { context } = move;
  const { step, jobId, target } = following;
  const back = await withdraw(target.service, jobId, {
    context: runContext(context),
    waitMs: followBudgetMs,
  });
  if (back.kind === 'unknown') return overBudget;
  if (back.kind === 'withdrawn') {
    await save(context, step, { attempts: withLast(step, { state: 'unplaced' }) });
    return undefined;
  }
  return toTheEnd(move, following, back.job);
}

async function toTheEnd(move: Move, following: Following, job: Job): Promise<Unknown | undefined> {
  if (await endedAsForeign(move, following, job)) return undefined;
  const { context } = move;
  const { step, jobId, target } = following;
  const running = await markRunning(move, step, job);
  if (running === undefined) return undefined;
  const ended = isEnd(job.state)
    ? job
    : await target.service.follow(jobId, { ...runContext(context), budgetMs: followBudgetMs });
  if (ended === undefined) return overBudget;
  const last = { ...following, step: running };
  if (await endedAsForeign(move, last, ended)) return undefined;
  if (
    neverStarted(ended) &&
    ended.state === 'expired' &&
    (await untried(context, running)).target !== undefined
  ) {
    await save(context, running, { attempts: withLast(running, { state: 'unplaced' }) });
    return undefined;
  }
  const settled = settle(ended, target.tier);
  if (settled.value !== undefined) context.values.set(step.id, settled.value.value);
  await finish(context, running, 'ended', settled.end);
  return undefined;
}

async function markRunning({ context }: Move, step: StepRecord, job: Job): Promise<StepRecord | undefined> {
  if (step.state !== 'submitted' || job.timings.started_at === null) return step;
  return save(context, step, { state: 'running' });
}

// A job that is not the one that was asked for, or that is somewhere it may not be, has no result.
async function endedAsForeign(move: Move, following: Following, job: Job): Promise<boolean> {
  const { context } = move;
  const { step, attempt, jobId, target } = following;
  const other = differing(context, step, attempt, job);
  const misplaced =
    other.length === 0 && (await checkPlacement(job, target, runContext(context))) === 'violation';
  if (other.length === 0 && !misplaced) return false;
  if (!isEnd(job.state)) move.cancelJob(target, jobId);
  const message = misplaced
    ? 'The job is on a node that it may not be on. Its result was withheld.'
    : `Run answered another job than the one asked for (${other.join(', ')}). Its result was withheld.`;
  await finish(context, step, 'ended', {
    status: misplaced ? 'placement_violation' : 'run_error',
    executed: 'unknown',
    code: misplaced ? 'placement-violation' : 'answer-differs',
    message,
    job: jobSummary(job, target.tier),
  });
  return true;
}
