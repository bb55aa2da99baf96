import { aborted, type Clock } from '../clock.ts';
import { isSkillRunError } from '../errors.ts';
import { withDeadline } from './deadline.ts';
import { requireWhole } from './options.ts';
import { RunProblem } from './problem.ts';
import type { FollowOptions } from './service.ts';
import { RunUnreachable } from './unreachable.ts';
import { createWake } from './wake.ts';
import { type FollowClient, watchStream } from './watch.ts';
import { isEnd, type Job } from './wire.ts';

// Between two reads that a stream asks for.
const minGapMs = 100;
// While a stream is open; one that says nothing, or lies, costs no more than this.
const streamingPollMs = 10_000;
const firstPollMs = 250;
const maxPollMs = 3000;
const minReadMs = 5000;
const maxInvalidReads = 3;

/**
 * Follows a job until an end state, until `until` says so, or until the budget is spent (`undefined`).
 *
 * Only a read of the job itself is believed; its stream merely says when to read. A failed read says
 * nothing about the job: an unreachable service is asked again until the budget is spent. Rejects with
 * `job_not_found`, with a `run_problem` that asking again would not mend, with `run_answer_invalid`
 * after three such answers in a row, and with `aborted`.
 */
export async function followJob(
  client: FollowClient,
  clock: Clock,
  jobId: string,
  options: FollowOptions,
): Promise<Job | undefined> {
  const { person, signal, onJob, until } = options;
  const deadline = clock.now() + requireWhole('budgetMs', options.budgetMs, 0, 2_147_483_647);
  if (signal?.aborted) throw aborted(signal);
  const over = new AbortController();
  const wake = createWake(clock);
  const stop = (): void => {
    over.abort();
    wake.ring();
  };
  signal?.addEventListener('abort', stop, { once: true });
  let invalid = 0;
  const read = async (): Promise<Job | undefined> => {
    const ms = Math.max(deadline - clock.now(), minReadMs);
    const late = (): Error => new RunUnreachable(`reading ${jobId}`, 1, `no answer within ${ms} ms`);
    try {
      const job = await withDeadline({ clock, ms, signal, late }, (cut) =>
        client.get(jobId, { person, signal: cut }),
      );
      invalid = 0;
      return job;
    } catch (error) {
      if (isSkillRunError(error, 'run_answer_invalid')) invalid += 1;
      if (!isPassing(error, invalid)) throw error;
      return undefined;
    }
  };
  try {
    let state: Job['state'] | undefined;
    let pause = firstPollMs;
    let watching = false;
    for (;;) {
      const readAt = clock.now();
      const job = await read();
      if (job !== undefined) {
        if (job.state !== state) {
          state = job.state;
          pause = firstPollMs;
          onJob?.(job);
        }
        if (isEnd(job.state) || until?.(job)) return job;
      }
      if (clock.now() >= deadline) return undefined;
      if (!watching) {
        watching = true;
        watchStream(client, clock, jobId, { person, signal: over.signal }, wake).catch(() => {});
      }
      await wake.wait(Math.min(deadline - clock.now(), wake.streaming ? streamingPollMs : pause));
      pause = Math.min(maxPollMs, pause * 2);
      const early = readAt + minGapMs - clock.now();
      if (early > 0) await clock.sleep(early, signal);
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    over.abort();
  }
}

function isPassing(error: unknown, invalid: number): boolean {
  if (error instanceof RunProblem) return error.retryable || error.status >= 500;
  if (isSkillRunError(error, 'run_answer_invalid')) return invalid < maxInvalidReads;
  return isSkillRunError(error, 'run_unreachable');
}
