import type { Diagnostics, Egress, Job, JobInput, JobLimits } from '../run/wire.ts';
import type { Json, JsonObject } from '../skill/json.ts';

/** A job as it was asked for, checked, its defaults filled. */
export interface JobSpec {
  readonly class: 'function';
  readonly artifact: { readonly name: string; readonly version: string };
  readonly args: JsonObject;
  readonly inputs: JobInput[];
  readonly limits: JobLimits;
  /** Milliseconds from the submit within which the job must have ended. */
  readonly ttl_ms: number;
  readonly egress: Egress;
  readonly requirements: JsonObject;
  readonly idempotency_key: string | null;
}

/** Where a job was put. */
export type Placement = NonNullable<Job['placement']>;

/** What a job used; `wall_ms` is also what is metered. All whole numbers. */
export interface JobUsage {
  readonly wall_ms: number;
  readonly cpu_ms: number | null;
  readonly mem_peak_bytes: number | null;
}

/** How an executor says that a job ended. */
export type JobEnd = {
  readonly usage?: JobUsage;
  readonly diagnostics?: Diagnostics;
} & (
  | { readonly state: 'succeeded'; readonly result: Json }
  | { readonly state: 'failed'; readonly exit: NonNullable<Job['exit']>; readonly error: JobFault }
  | { readonly state: 'cancelled' }
  | { readonly state: 'expired'; readonly error: JobFault }
);

/** Why a job failed or expired. */
export interface JobFault {
  /** One of Run's codes, such as `run.job.limit`. */
  readonly code: string;
  /** At most 1024 characters. */
  readonly detail: string | null;
}
