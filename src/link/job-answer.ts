import { isoTime } from '../clock.ts';
import type { Person } from '../run/service.ts';
import type { Job } from '../run/wire.ts';
import type { JobEnd, JobSpec, Placement } from './job-spec.ts';

// A job as Run answers it, one function a step of its life. Each makes a new object: an answer that
// was given does not change under its reader.

/** A job that waits. */
export function newJob(spec: JobSpec, person: Person, id: string, now: number): Job {
  return {
    id,
    project_id: person.project,
    requester: { type: 'user', id: person.subject },
    state: 'queued',
    class: spec.class,
    artifact: spec.artifact,
    inputs: spec.inputs,
    limits: spec.limits,
    ttl_ms: spec.ttl_ms,
    egress: spec.egress,
    requirements: spec.requirements,
    idempotency_key: spec.idempotency_key,
    placement: null,
    timings: { created_at: isoTime(now), placed_at: null, started_at: null, finished_at: null },
    exit: null,
    result: null,
    usage: { seconds: 0, wall_ms: 0, cpu_ms: null, mem_peak_bytes: null },
    error: null,
  };
}

/** The job, put on a node. */
export function placedJob(job: Job, placement: Placement, now: number): Job {
  return { ...job, state: 'placed', placement, timings: { ...job.timings, placed_at: isoTime(now) } };
}

/** The job, at work. */
export function startedJob(job: Job, now: number): Job {
  return { ...job, state: 'running', timings: { ...job.timings, started_at: isoTime(now) } };
}

/** The job, at its end. */
export function endedJob(job: Job, end: JobEnd, now: number): Job {
  const { created_at, placed_at, started_at } = job.timings;
  const start = end.state === 'succeeded' ? (started_at ?? isoTime(now)) : started_at;
  const usage = end.usage ?? {
    wall_ms: start === null ? 0 : Math.max(0, Math.round(now - Date.parse(start))),
    cpu_ms: null,
    mem_peak_bytes: null,
  };
  return {
    ...job,
    state: end.state,
    timings: { created_at, placed_at, started_at: start, finished_at: isoTime(now) },
    exit: exitOf(end),
    result: end.state === 'succeeded' ? end.result : null,
    usage: { seconds: usage.wall_ms / 1000, ...usage },
    error: end.state === 'failed' || end.state === 'expired' ? { ...end.error } : null,
  };
}

function exitOf(end: JobEnd): Job['exit'] {
  switch (end.state) {
    case 'succeeded':
      return { reason: 'exited', code: 0 };
    case 'failed':
      return { ...end.exit };
    case 'cancelled':
      return { reason: 'cancelled', code: null };
    case 'expired':
      return { reason: 'ttl', code: null };
  }
}
