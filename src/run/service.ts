import type { Net } from '../skill/caps.ts';
import type { Diagnostics, Job, JobRequest, SubmitAnswer } from './wire.ts';

/** The person a job is submitted for: fixed by the host, before a model writes anything. */
export interface Person {
  /** `usr_<ULID>`. */
  readonly subject: string;
  /** `prj_<ULID>`. */
  readonly project: string;
}

/** What every call to a Run carries. */
export interface RunContext {
  readonly person: Person;
  readonly signal?: AbortSignal | undefined;
}

/** Where a job may be placed: the person's own Links, or OpenVibe's pool. */
export type Tier = 'own' | 'pool';

/** A node that runs skills. */
export interface RunNode {
  /** The node's id, as `job.placement.node` names it. */
  readonly node: string;
  readonly tier: Tier;
  /** The networks it can hold a job to. */
  readonly nets: readonly Net[];
  /** For the person: what this machine is and how it isolates, in a few words. */
  readonly detail?: string;
}

/** The code of one job input, handed to a Run that fetches none by itself. */
export interface CodeResource {
  /** `med_<ULID>`, as the listing pins it. */
  readonly mediaId: string;
  /** 64 lower-case hex digits, over exactly `bytes`. */
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

/** How {@link RunService.follow} is bounded and what it tells on the way. */
export interface FollowOptions extends RunContext {
  /** Milliseconds from now after which it gives up with `undefined`; the job may still run. */
  readonly budgetMs: number;
  /** Called with the job each time its state was read and had changed. */
  readonly onJob?: (job: Job) => void;
  /** Stop following, with the job as it is, once this says so. Default: only at an end state. */
  readonly until?: (job: Job) => boolean;
}

/**
 * The port through which the gateway runs a job: a Run over HTTP, or a local Link.
 *
 * Every method rejects with a `SkillRunError`: `run_problem` (the Run refused; see `RunProblem`),
 * `run_unreachable` (no answer after the retries), `run_answer_invalid`, `job_not_found`, `aborted`.
 */
export interface RunService {
  /**
   * Stands in a step's record for the service that has its job: the same for as long as that service knows
   * its jobs and keys, and never that of another one.
   */
  readonly id: string;
  /** Submits, or, for a key this project has used before with the same work, answers the first job. */
  submit(request: JobRequest, context: RunContext): Promise<SubmitAnswer>;
  get(jobId: string, context: RunContext): Promise<Job>;
  /** Asks for an end; the answer is no proof that the work stopped. */
  cancel(jobId: string, context: RunContext): Promise<Job>;
  /** Follows a job to an end (or to `until`); `undefined` when the budget ran out first. */
  follow(jobId: string, options: FollowOptions): Promise<Job | undefined>;
  /** The nodes that run skills for this person now; `fresh` asks again instead of answering from memory. */
  nodes(context: RunContext, options?: { fresh?: boolean }): Promise<readonly RunNode[]>;
  /** stderr and network targets, for the person; `undefined` where this Run keeps none. */
  diagnostics(jobId: string, context: RunContext): Promise<Diagnostics | undefined>;
  /** Takes the code of the jobs to come, where it comes from the gateway. */
  provide?(resources: readonly CodeResource[]): void;
}
