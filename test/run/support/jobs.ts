import { buildJobRequest, idempotencyKey, type JobParts } from '../../../src/run/job-request.ts';
import type { Job, JobRequest, JobState } from '../../../src/run/wire.ts';

const ulid = (n: number): string => `01J${String(n).padStart(23, '0')}`;

export const ids = {
  ann: `usr_${ulid(1)}`,
  bob: `usr_${ulid(2)}`,
  annProject: `prj_${ulid(1)}`,
  bobProject: `prj_${ulid(2)}`,
  job: `job_${ulid(1)}`,
  otherJob: `job_${ulid(2)}`,
  step: `stp_${ulid(1)}`,
  media: `med_${ulid(1)}`,
} as const;
export const ann = { subject: ids.ann, project: ids.annProject };
export const bob = { subject: ids.bob, project: ids.bobProject };

export const parts: JobParts = {
  tool: 'slugify',
  entry: 'lib/slugify.js',
  input: { title: 'a' },
  pins: [{ name: 'lib.slugify.js', mediaId: ids.media, sha256: 'a'.repeat(64), size: 120 }],
  net: 'deny',
  limits: { wall_ms: 10_000, mem_bytes: 134_217_728 },
  tier: 'own',
  project: ids.annProject,
  key: idempotencyKey(ids.step, 1),
};

export function requestOf(change: Partial<JobParts> = {}): JobRequest {
  return buildJobRequest({ ...parts, ...change });
}

/** What the contract asks of each state. */
export function jobIn(state: JobState, change: Partial<Job> = {}, request = requestOf()): Job {
  const at = '2026-11-20T10:00:00.000Z';
  const placed = state !== 'queued' && state !== 'cancelled' && state !== 'expired';
  const started = placed && state !== 'placed';
  const ended = !['queued', 'placed', 'running'].includes(state);
  const reasons = {
    succeeded: 'exited',
    failed: 'failed',
    cancelled: 'cancelled',
    expired: 'ttl',
  } as const;
  return {
    id: ids.job,
    project_id: ids.annProject,
    requester: { type: 'user', id: ids.ann },
    state,
    class: request.class,
    artifact: request.artifact,
    inputs: request.inputs,
    limits: request.limits,
    ttl_ms: request.ttl_ms,
    egress: request.egress,
    requirements: request.requirements,
    idempotency_key: request.idempotency_key,
    placement: placed ? { node: 'node-1', provider: null, region: 'eu' } : null,
    timings: {
      created_at: at,
      placed_at: placed ? at : null,
      started_at: started ? at : null,
      finished_at: ended ? at : null,
    },
    exit: ended
      ? { reason: reasons[state as keyof typeof reasons], code: state === 'succeeded' ? 0 : null }
      : null,
    result: state === 'succeeded' ? { slug: 'a' } : null,
    usage: { seconds: 0, wall_ms: 0, cpu_ms: null, mem_peak_bytes: null },
    error:
      state === 'failed'
        ? { code: 'run.job.worker_failed', detail: null }
        : state === 'expired'
          ? { code: 'run.job.unplaceable', detail: null }
          : null,
    ...change,
  };
}
