import type { Json, JsonObject } from '../skill/json.ts';

// The messages of Run, as its released contracts state them. Fields that a newer Run may add are dropped.

/** The function every skill tool runs as. */
export const runnerArtifact = { name: 'openvibe-skill-runner', version: '1.0.0' } as const;

/** The network of a job in Run's own words: a tool's `deny` is a job's `none`. */
export type Egress = 'none' | 'openvibe-only' | 'public';
/** A job's states; the last four never change. */
export type JobState = 'queued' | 'placed' | 'running' | 'succeeded' | 'failed' | 'cancelled' | 'expired';
/** How far Run trusts a node: a person's own machine is `user-owned`, the pool `first-party`. */
export type Trust = 'first-party' | 'user-owned' | 'partner' | 'community' | 'external';

/** A file a job starts with, pinned by its sha256. */
export interface JobInput {
  /** `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`. */
  name: string;
  /** `med_<ULID>`. */
  media_id: string;
  /** 64 lower-case hex digits. */
  sha256: string;
  size_bytes?: number | undefined;
}

/** What a job may use; all three are required, each at least 1. */
export interface JobLimits {
  /** Milliseconds. */
  wall_ms: number;
  /** Milliseconds of processor time. */
  cpu_ms: number;
  /** Bytes. */
  mem_bytes: number;
}

/** `platform.workload-requirements@1`, as far as this library uses it. */
export interface Requirements {
  kind: 'run.function';
  mobility: 'job';
  latency_class: 'interactive';
  objective: 'balanced';
  trust: Trust[];
  capabilities: string[];
  project_id: string;
  resources: { memory_mb: number; egress: Egress };
}

/** The body of `POST /api/v1/jobs` for a tool's run. */
export interface JobRequest {
  class: 'function';
  artifact: { name: string; version: string };
  args: { tool: string; entry: string; input: JsonObject };
  inputs: JobInput[];
  limits: JobLimits;
  ttl_ms: number;
  egress: Egress;
  requirements: Requirements;
  idempotency_key: string;
}

/** A job as Run answers it. Everything textual in it is a node's or Run's: untrusted. */
export interface Job {
  /** `job_<ULID>`. */
  id: string;
  project_id: string;
  requester: { type: string; id: string };
  state: JobState;
  class: string;
  artifact: { name: string; version: string } | null;
  inputs: JobInput[];
  limits: JobLimits;
  /** Milliseconds. */
  ttl_ms: number;
  egress: Egress;
  requirements: unknown;
  idempotency_key: string | null;
  placement: { node: string; provider: string | null; region: string | null } | null;
  /** RFC 3339. */
  timings: {
    created_at: string;
    placed_at: string | null;
    started_at: string | null;
    finished_at: string | null;
  };
  exit: {
    reason: 'exited' | 'cancelled' | 'ttl' | 'limit' | 'stopped' | 'failed';
    code: number | null;
  } | null;
  /** Null unless `succeeded`. */
  result: Json;
  usage: {
    /** Metered seconds. */
    seconds: number;
    /** Milliseconds. */
    wall_ms: number;
    /** Milliseconds. */
    cpu_ms: number | null;
    /** Bytes. */
    mem_peak_bytes: number | null;
  };
  /** Present exactly when `failed` or `expired`. */
  error: { code: string; detail: string | null } | null;
}

/** The answer to a submit. */
export interface SubmitAnswer {
  /** False for an idempotent repeat. */
  created: boolean;
  job: Job;
}

/** One page of jobs. */
export interface JobList {
  jobs: Job[];
  next_cursor: string | null;
}

/** A ticket for one read of a job's stream: 2 minutes, single use. */
export interface StreamTicket {
  ticket: string;
  /** RFC 3339. */
  expires_at: string;
  /** Seconds. */
  expires_in: number;
  stream_url: string;
  job_id: string;
}

/** One event of a job's stream. */
export type JobEvent = {
  job_id: string;
  /** May start again after the server did. */
  seq: number;
  /** RFC 3339. */
  at: string;
} & ({ type: 'output'; chunk: string } | { type: 'state' | 'end'; state: JobState });

/** RFC 9457 `application/problem+json`, as Run sends it. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  code: string;
  detail?: string | undefined;
  instance?: string | undefined;
  request_id?: string | undefined;
  trace_id?: string | undefined;
  errors?: { path?: string | undefined; message: string }[] | undefined;
}

/** What a job tells the person beyond its result (ours: `GET /api/v1/jobs/:id/diagnostics`). */
export interface Diagnostics {
  stderr: string;
  /** The network targets that the tool tried. */
  targets: { host: string; port: number; allowed: boolean; bytes: number }[];
}

/** Whether a job's state never changes again. */
export function isEnd(value: JobState): boolean {
  return value === 'succeeded' || value === 'failed' || value === 'cancelled' || value === 'expired';
}
