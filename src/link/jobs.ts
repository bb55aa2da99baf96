import type { Clock } from '../clock.ts';
import { systemClock } from '../clock.ts';
import { SkillRunError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Person } from '../run/service.ts';
import type { Diagnostics, Job, JobEvent, JobList, JobState, SubmitAnswer } from '../run/wire.ts';
import { isEnd } from '../run/wire.ts';
import type { JsonObject } from '../skill/json.ts';
import { canonicalJson } from '../skill/json.ts';
import { sha256 } from '../skill/sha256.ts';
import { createFairQueue } from './fair-queue.ts';
import { endedJob, newJob, placedJob, startedJob } from './job-answer.ts';
import type { JobLog } from './job-log.ts';
import { createJobLog } from './job-log.ts';
import type { JobEnd, JobSpec, Placement } from './job-spec.ts';
import { jobNotFound, refusal } from './refusal.ts';

/** What the engine tells and hears while a job runs. */
export interface JobControl {
  /** Fires on a cancel, on the ttl, when the engine closes, and with the job's end. */
  readonly signal: AbortSignal;
  /** To be called once, when the work has started. */
  onStart(): void;
  /** A piece of stdout for who follows the stream. */
  onOutput(chunk: string): void;
}

/** {@link createJobEngine}'s options. */
export interface JobEngineOptions {
  /** Does the work. It settles only when nothing of the job runs any more; a rejection is `worker_failed`. */
  execute(job: Job, spec: JobSpec, control: JobControl): Promise<JobEnd>;
  /** The node that takes the job, or `undefined`: it stays queued. Asked again whenever a place is free. */
  place(job: Job, spec: JobSpec): Placement | undefined;
  /** Why no node takes a job, at most 1024 characters. Default, also for `undefined`: that none offered. */
  whyNot?(spec: JobSpec): string | undefined;
  clock?: Clock;
  /** Jobs at work at once; those that wait are taken from each project in turn. Default 2. */
  maxJobs?: number;
  /** Jobs waiting for a place; more are refused with 429 `run.queue_full`. Default 1000. */
  maxQueued?: number;
  /** Ended jobs that are remembered; the oldest are forgotten, with their idempotency keys. Default 1000. */
  maxEnded?: number;
}

/** How {@link JobEngine.list} narrows and pages. */
export interface JobQuery {
  state?: JobState;
  /** 1 to 200; default 50. */
  limit?: number;
  /** `next_cursor` of the page before. */
  cursor?: string;
}

/**
 * Run's jobs, in memory. A job belongs to one person in one project; to all others it does not exist.
 * Methods throw a refusal (`run_problem`, `job_not_found`), or `closed`.
 */
export interface JobEngine {
  submit(spec: JobSpec, person: Person): Promise<SubmitAnswer>;
  get(jobId: string, person: Person): Job;
  /** Newest first. */
  list(query: JobQuery, person: Person): JobList;
  cancel(jobId: string, person: Person): Job;
  /** Replays what is kept after `after` (default 0: all), then goes on to the end. */
  events(
    jobId: string,
    person: Person,
    options?: { after?: number; signal?: AbortSignal },
  ): AsyncGenerator<JobEvent, void, undefined>;
  diagnostics(jobId: string, person: Person): Diagnostics | undefined;
  /** Cancels every job and waits until nothing runs. */
  close(): Promise<void>;
}

interface Entry {
  job: Job;
  readonly order: number;
  readonly person: Person;
  /** Hash of what was asked, and by whom. */
  readonly work: string;
  /** Gone with the end: its arguments are the large part, and nobody may ask for them. */
  spec: JobSpec | undefined;
  readonly log: JobLog;
  /** Ends the work, and the wait for the ttl. */
  readonly stop: AbortController;
  /** Whether the ttl stopped the work. */
  overdue: boolean;
  diagnostics: Diagnostics | undefined;
}

/** Makes a {@link JobEngine}. Its memory is bounded by the three numbers of the options. */
export function createJobEngine(options: JobEngineOptions): JobEngine {
  const { clock = systemClock, maxJobs = 2, maxQueued = 1000, maxEnded = 1000 } = options;
  const entries = new Map<string, Entry>();
  const keys = new Map<string, Entry>();
  const queue = createFairQueue<Entry>();
  const ended: Entry[] = [];
  const running = new Set<Promise<void>>();
  let order = 0;
  let closed = false;

  const change = (entry: Entry, job: Job): void => {
    entry.job = job;
    entry.log.state(isEnd(job.state) ? 'end' : 'state', job.state);
  };

  const finish = (entry: Entry, end: JobEnd): void => {
    if (isEnd(entry.job.state)) return;
    queue.delete(entry.job.project_id, entry);
    entry.spec = undefined;
    entry.diagnostics = end.diagnostics;
    change(entry, endedJob(entry.job, end, clock.now()));
    entry.stop.abort();
    ended.push(entry);
    while (ended.length > maxEnded) forget(ended.shift() as Entry);
  };

  const forget = (entry: Entry): void => {
    entries.delete(entry.job.id);
    const key = keyOf(entry.job.project_id, entry.job.idempotency_key);
    if (key !== undefined) keys.delete(key);
  };

  const run = async (entry: Entry, spec: JobSpec): Promise<void> => {
    let end: JobEnd;
    try {
      end = await options.execute(entry.job, spec, {
        signal: entry.stop.signal,
        onStart() {
          if (entry.job.state === 'placed') change(entry, startedJob(entry.job, clock.now()));
        },
        onOutput(chunk) {
          if (!isEnd(entry.job.state)) entry.log.output(chunk);
        },
      });
    } catch {
      end = entry.stop.signal.aborted ? { state: 'cancelled' } : workerFailed;
    }
    // What had ended otherwise before it was stopped stays so.
    finish(
      entry,
      entry.overdue && end.state === 'cancelled' ? { ...end, state: 'expired', error: tooLate } : end,
    );
  };

  const schedule = (): void => {
    while (!closed && running.size < maxJobs) {
      const next = queue.take((entry) => {
        const { job, spec } = entry;
        const placement = spec && options.place(job, spec);
        return placement && { entry, spec, placement };
      });
      if (next === undefined) return;
      const { entry, spec, placement } = next;
      change(entry, placedJob(entry.job, placement, clock.now()));
      const work = run(entry, spec).finally(() => {
        running.delete(work);
        schedule();
      });
      running.add(work);
    }
  };

  const expire = (entry: Entry): void => {
    const { job, spec } = entry;
    if (job.state === 'running') {
      // Its executor says when nothing runs any more, and what was used.
      entry.overdue = true;
      entry.stop.abort();
      return;
    }
    const offered = job.state === 'placed' || (spec && options.place(job, spec)) !== undefined;
    const detail = (spec && options.whyNot?.(spec)) ?? 'No node offered to run the job.';
    finish(entry, { state: 'expired', error: offered ? tooLate : { code: 'run.job.unplaceable', detail } });
  };

  const find = (jobId: string, person: Person): Entry => {
    const entry = entries.get(jobId);
    if (entry === undefined || !isOf(entry, person)) throw jobNotFound();
    return entry;
  };

  const cancel = (entry: Entry): void => {
    if (entry.job.state === 'queued') finish(entry, { state: 'cancelled' });
    else entry.stop.abort();
  };

  return {
    async submit(spec, person) {
      const asked = { ...spec, idempotency_key: null, subject: person.subject };
      const work = await sha256(canonicalJson(asked as unknown as JsonObject));
      // From here to the return nothing awaits: twenty submits under one key make one job.
      if (closed) throw new SkillRunError('closed', 'This Run was closed. Make a new one.');
      const key = keyOf(person.project, spec.idempotency_key);
      const known = key === undefined ? undefined : keys.get(key);
      if (known !== undefined) {
        if (known.work !== work) throw keyConflict();
        return { created: false, job: known.job };
      }
      if (queue.size >= maxQueued) throw queueFull();
      const job = newJob(spec, person, newId('job', clock.now()), clock.now());
      const entry: Entry = {
        job,
        order: ++order,
        person: { subject: person.subject, project: person.project },
        work,
        spec,
        log: createJobLog(job.id, clock),
        stop: new AbortController(),
        overdue: false,
        diagnostics: undefined,
      };
      entries.set(job.id, entry);
      if (key !== undefined) keys.set(key, entry);
      queue.add(job.project_id, entry);
      entry.log.state('state', 'queued');
      clock.sleep(spec.ttl_ms, entry.stop.signal).then(
        () => expire(entry),
        () => undefined,
      );
      schedule();
      return { created: true, job };
    },
    get: (jobId, person) => find(jobId, person).job,
    list({ state, limit = 50, cursor }, person) {
      const below = cursor === undefined ? Number.POSITIVE_INFINITY : Number(cursor);
      const found = [...entries.values()]
        .reverse()
        .filter((entry) => isOf(entry, person) && entry.order < below)
        .filter((entry) => state === undefined || entry.job.state === state);
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return {
        jobs: page.map((entry) => entry.job),
        next_cursor: last !== undefined && found.length > limit ? String(last.order) : null,
      };
    },
    cancel(jobId, person) {
      const entry = find(jobId, person);
      if (!isEnd(entry.job.state)) cancel(entry);
      return entry.job;
    },
    events: (jobId, person, { after = 0, signal } = {}) => find(jobId, person).log.read(after, signal),
    diagnostics: (jobId, person) => find(jobId, person).diagnostics,
    async close() {
      closed = true;
      for (const entry of entries.values()) if (!isEnd(entry.job.state)) cancel(entry);
      await Promise.all(running);
    },
  };
}

const workerFailed: JobEnd = {
  state: 'failed',
  exit: { reason: 'failed', code: null },
  error: { code: 'run.job.worker_failed', detail: 'The node could not do the work.' },
};
const tooLate = { code: 'run.job.ttl', detail: 'The job had not ended when its ttl_ms was over.' };

function keyOf(project: string, key: string | null): string | undefined {
  return key === null ? undefined : `${project} ${key}`;
}

function isOf(entry: Entry, person: Person): boolean {
  return entry.person.subject === person.subject && entry.person.project === person.project;
}

function keyConflict(): SkillRunError {
  return refusal(
    409,
    'run.idempotency.conflict',
    'This idempotency key was used for other work. Use a new key for new work.',
  );
}

function queueFull(): SkillRunError {
  return refusal(429, 'run.queue_full', 'Too many jobs wait for a place here. Try again later.');
}
