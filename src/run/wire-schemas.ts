import * as z from 'zod/mini';
import type { Json } from '../skill/json.ts';
import type { Diagnostics, Job, JobEvent, JobList, Problem, StreamTicket, SubmitAnswer } from './wire.ts';

// The messages of Run as schemas, never narrower than its contracts: a job whose answer is refused is lost.
// Fields that a newer Run may add are dropped.

const ulid = '[0-9A-HJKMNP-TV-Z]{26}';
const id = (prefix: string) => z.string().check(z.regex(new RegExp(`^${prefix}_${ulid}$`)));
const time = z.string();
const count = z.number().check(z.gte(0), z.refine(Number.isInteger));
// The contracts count code points; a string's length counts those beyond U+FFFF twice.
const text = (max: number) =>
  z
    .string()
    .check(z.refine((value) => value.length <= max || (value.length <= 2 * max && [...value].length <= max)));

const input = z.object({
  name: z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/)),
  media_id: id('med'),
  sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
  size_bytes: z.optional(count),
});
const limits = z.object({ wall_ms: count, cpu_ms: count, mem_bytes: count });
const state = z.enum(['queued', 'placed', 'running', 'succeeded', 'failed', 'cancelled', 'expired']);

/** The id of a node, as a job's placement names it. */
export const nodeName = text(128).check(z.minLength(1));
/** What a job's error says beside its code. */
export const jobErrorDetail = text(1024);
/** The code of a job's error, such as `run.job.limit`: words with a dot between each two, of any length. */
export const jobErrorCode = z.string().check(
  // Without a group that repeats: one over a text of megabytes overflows the engine's stack.
  z.regex(/^run\.[a-z0-9_.]*[a-z0-9_]$/),
  z.refine((code) => !code.includes('..')),
);

/** A job as Run answers it. Everything textual in it is a node's or Run's: untrusted. */
export const jobSchema: z.ZodMiniType<Job> = z.object({
  id: id('job'),
  project_id: id('prj'),
  requester: z.object({ type: z.string().check(z.maxLength(32)), id: z.string().check(z.maxLength(64)) }),
  state,
  class: z.string(),
  artifact: z.nullable(z.object({ name: z.string(), version: z.string() })),
  inputs: z.array(input).check(z.maxLength(32)),
  limits,
  ttl_ms: count,
  egress: z.enum(['none', 'public', 'openvibe-only']),
  requirements: z.unknown(),
  idempotency_key: z.nullable(z.string().check(z.maxLength(128))),
  placement: z.nullable(
    z.object({
      node: nodeName,
      provider: z.nullable(text(128)),
      region: z.nullable(text(64)),
    }),
  ),
  timings: z.object({
    created_at: time,
    placed_at: z.nullable(time),
    started_at: z.nullable(time),
    finished_at: z.nullable(time),
  }),
  exit: z.nullable(
    z.object({
      reason: z.enum(['exited', 'cancelled', 'ttl', 'limit', 'stopped', 'failed']),
      code: z.nullable(z.number()),
    }),
  ),
  result: z.custom<Json>((value) => value !== undefined),
  usage: z.object({
    seconds: z.number().check(z.gte(0)),
    wall_ms: count,
    cpu_ms: z.nullable(count),
    mem_peak_bytes: z.nullable(count),
  }),
  error: z.nullable(
    z.object({
      code: jobErrorCode,
      detail: z.nullable(jobErrorDetail),
    }),
  ),
});

/** The answer to a submit: `created` is false for an idempotent repeat. */
export const submitAnswerSchema: z.ZodMiniType<SubmitAnswer> = z.object({
  created: z.boolean(),
  job: jobSchema,
});

/** One page of jobs. */
export const jobListSchema: z.ZodMiniType<JobList> = z.object({
  jobs: z.array(jobSchema),
  next_cursor: z.nullable(z.string()),
});

/** A ticket for one read of a job's stream: 2 minutes, single use. */
export const streamTicketSchema: z.ZodMiniType<StreamTicket> = z.object({
  ticket: z.string().check(z.maxLength(4096), z.regex(/^[\w-]+\.[\w-]+\.[\w-]+$/)),
  expires_at: time,
  expires_in: count,
  stream_url: z.string(),
  job_id: id('job'),
});

/** One event of a job's stream. */
export const jobEventSchema: z.ZodMiniType<JobEvent> = z.discriminatedUnion('type', [
  z.object({ type: z.literal('output'), job_id: id('job'), seq: count, at: time, chunk: z.string() }),
  z.object({ type: z.literal('state'), job_id: id('job'), seq: count, at: time, state }),
  z.object({ type: z.literal('end'), job_id: id('job'), seq: count, at: time, state }),
]);

/** RFC 9457 `application/problem+json`, as Run sends it. */
export const problemSchema: z.ZodMiniType<Problem> = z.object({
  type: z.string(),
  title: z.string(),
  status: z.number(),
  code: z.string(),
  detail: z.optional(z.string()),
  instance: z.optional(z.string()),
  request_id: z.optional(z.string()),
  trace_id: z.optional(z.string()),
  errors: z.optional(z.array(z.object({ path: z.optional(z.string()), message: z.string() }))),
});

/** What a job tells the person beyond its result (ours: `GET /api/v1/jobs/:id/diagnostics`). */
export const diagnosticsSchema: z.ZodMiniType<Diagnostics> = z.object({
  // 16 KiB of which each character may have been written as \u{hex}.
  stderr: z.string().check(z.maxLength(16_384 * 10)),
  targets: z
    .array(
      z.object({
        host: z.string().check(z.maxLength(1024)),
        port: count,
        allowed: z.boolean(),
        bytes: count,
      }),
    )
    .check(z.maxLength(1024)),
});
