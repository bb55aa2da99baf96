import { canonicalJson } from '../skill/json.ts';
import type { Person } from './service.ts';
import type { Job, JobInput, JobRequest } from './wire.ts';

/** A part of a job that was asked for and can be compared with what is answered. */
export type JobField =
  | 'project'
  | 'requester'
  | 'class'
  | 'artifact'
  | 'inputs'
  | 'egress'
  | 'limits'
  | 'idempotency_key';

/**
 * In which of its parts a job is not the one that was asked for; empty when it is. A result of a job
 * with any difference is not a result of that request.
 */
export function differences(request: JobRequest, job: Job, person: Person): readonly JobField[] {
  const same: Record<JobField, boolean> = {
    project: job.project_id === person.project,
    // A person's job may have been submitted by an app or agent in his name: its id is no person's.
    requester: job.requester.type !== 'user' || job.requester.id === person.subject,
    class: job.class === request.class,
    artifact: job.artifact !== null && canonicalJson(job.artifact) === canonicalJson(request.artifact),
    inputs: sameInputs(request.inputs, job.inputs),
    egress: job.egress === request.egress,
    limits: canonicalJson({ ...job.limits }) === canonicalJson({ ...request.limits }),
    idempotency_key: job.idempotency_key === request.idempotency_key,
  };
  return (Object.keys(same) as JobField[]).filter((field) => !same[field]);
}

// In any order, since names are unique; a size is compared where both sides state it.
function sameInputs(asked: readonly JobInput[], answered: readonly JobInput[]): boolean {
  return (
    asked.length === answered.length &&
    new Set(answered.map((input) => input.name)).size === answered.length &&
    asked.every((input) =>
      answered.some(
        (other) =>
          other.name === input.name &&
          other.media_id === input.media_id &&
          other.sha256 === input.sha256 &&
          (other.size_bytes ?? input.size_bytes) === (input.size_bytes ?? other.size_bytes),
      ),
    )
  );
}
