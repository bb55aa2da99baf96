import * as z from 'zod/mini';
import { maxLimits } from '../skill/caps.ts';
import type { JsonObject } from '../skill/json.ts';
import { utf8 } from '../skill/sha256.ts';
import type { JobSpec } from './job-spec.ts';
import { refusal } from './refusal.ts';

/** Longest `args` of a job as JSON, in bytes (Run's own bound). */
export const maxArgsBytes = 524_288;

const positive = z.int().check(z.gte(1));
const amount = z.number().check(z.gte(0));
const text = z.string().check(z.maxLength(128));
const egress = z.enum(['none', 'public', 'openvibe-only']);

// job-create-request of Run's contracts.
const schema = z.strictObject({
  class: z.enum(['function', 'code', 'browser', 'linux', 'desktop', 'gpu']),
  artifact: z.strictObject({
    name: z.string().check(z.regex(/^[a-z0-9][a-z0-9._-]{0,127}$/)),
    version: z.string().check(z.regex(/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/)),
  }),
  args: z._default(z.record(z.string(), z.unknown()), {}),
  inputs: z._default(
    z
      .array(
        z.strictObject({
          name: z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/)),
          media_id: z.string().check(z.regex(/^med_[0-9A-HJKMNP-TV-Z]{26}$/)),
          sha256: z.string().check(z.regex(/^[0-9a-f]{64}$/)),
          size_bytes: z.optional(z.int().check(z.gte(0))),
        }),
      )
      .check(z.maxLength(32)),
    [],
  ),
  limits: z.strictObject({ wall_ms: positive, cpu_ms: positive, mem_bytes: positive }),
  ttl_ms: z._default(z.int().check(z.gte(1000), z.lte(86_400_000)), 120_000),
  egress: z._default(egress, 'none'),
  requirements: z._default(
    z.strictObject({
      kind: text,
      mobility: z.enum(['request', 'job', 'session', 'stateful-partition']),
      latency_class: z.enum(['realtime', 'interactive', 'background', 'bulk', 'critical']),
      objective: z.enum([
        'cheapest',
        'lowest-latency',
        'balanced',
        'private',
        'local-only',
        'first-party-only',
        'high-reliability',
        'correctness',
      ]),
      max_latency_ms: z.optional(amount),
      deadline_ms: z.optional(amount),
      max_cost_usd: z.optional(amount),
      durability: z.optional(z.enum(['none', 'at-least-once', 'authoritative'])),
      residency: z.optional(text),
      trust: z.optional(
        z
          .array(z.enum(['first-party', 'user-owned', 'partner', 'community', 'external']))
          .check(z.minLength(1), z.maxLength(5)),
      ),
      region: z.optional(text),
      capabilities: z.optional(z.array(text).check(z.maxLength(64))),
      resources: z.optional(
        z.strictObject({
          cpu: z.optional(amount),
          memory_mb: z.optional(amount),
          gpu: z.optional(z.boolean()),
          scratch_gb: z.optional(amount),
          egress: z.optional(egress),
        }),
      ),
      project_id: z.optional(z.string().check(z.regex(/^prj_[0-9A-HJKMNP-TV-Z]{26}$/))),
      partition_key: z.optional(text),
    }),
    { kind: 'run.function', mobility: 'job', latency_class: 'interactive', objective: 'balanced' },
  ),
  idempotency_key: z.optional(z.string().check(z.regex(/^[A-Za-z0-9._:-]{1,128}$/))),
});

/**
 * Checks the body of a submit, already parsed from JSON, and fills its defaults.
 *
 * Throws a refusal: 400 `run.invalid_request`, 413 `run.args_too_large`, 422 `run.invalid_input`,
 * 422 `run.limits.exceeded`. Caps are refused, never lowered.
 *
 * @param project the caller's; requirements that name another are refused
 * @param headerKey the `Idempotency-Key` header, where there is one
 */
export function checkJobRequest(body: unknown, project: string, headerKey?: string): JobSpec {
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    throw refusal(400, 'run.invalid_request', 'The job is not a valid submit body.', faults(parsed.error));
  }
  const job = parsed.data;
  if (job.class !== 'function') {
    throw refusal(422, 'run.invalid_input', 'class: this Run runs functions only. Send function.');
  }
  if (utf8(JSON.stringify(job.args)).length > maxArgsBytes) throw argsTooLarge();
  if (new Set(job.inputs.map((input) => input.name)).size < job.inputs.length) {
    throw refusal(422, 'run.invalid_input', 'inputs: two have one name. Give each its own.');
  }
  const { wall_ms, cpu_ms, mem_bytes } = job.limits;
  if (wall_ms > maxLimits.wall_ms || cpu_ms > maxLimits.wall_ms || mem_bytes > maxLimits.mem_bytes) {
    throw refusal(
      422,
      'run.limits.exceeded',
      `limits: at most ${maxLimits.wall_ms} ms and ${maxLimits.mem_bytes} bytes. Ask for less.`,
    );
  }
  if (job.requirements.project_id !== undefined && job.requirements.project_id !== project) {
    throw refusal(422, 'run.invalid_input', 'requirements.project_id: not the project of the request.');
  }
  return {
    ...job,
    class: job.class,
    args: job.args as JsonObject,
    requirements: job.requirements as JsonObject,
    idempotency_key: oneKey(job.idempotency_key, headerKey),
  };
}

export function argsTooLarge(): Error {
  return refusal(413, 'run.args_too_large', `args: at most ${maxArgsBytes} bytes of JSON. Send less.`);
}

function oneKey(inBody: string | undefined, inHeader: string | undefined): string | null {
  if (inHeader === undefined) return inBody ?? null;
  if (!/^[A-Za-z0-9._:-]{1,128}$/.test(inHeader)) {
    throw refusal(400, 'run.invalid_request', 'Idempotency-Key: 1 to 128 of A-Z a-z 0-9 . _ : -');
  }
  if (inBody !== undefined && inBody !== inHeader) {
    throw refusal(422, 'run.invalid_input', 'Idempotency-Key and idempotency_key differ. Send one of them.');
  }
  return inHeader;
}

// The path says where; a value is never repeated.
function faults(error: z.core.$ZodError): { path: string; message: string }[] {
  return error.issues.slice(0, 8).map((issue) => ({
    path: issue.path.map(String).join('.').slice(0, 128),
    message:
      issue.code === 'unrecognized_keys' ? 'An unknown field stands here.' : 'Not what is allowed here.',
  }));
}
