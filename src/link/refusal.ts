import { isSkillRunError, SkillRunError } from '../errors.ts';
import { RunProblem } from '../run/problem.ts';
import type { Problem } from '../run/wire.ts';

/**
 * A refusal by Run's own rules: in the process the error that a remote Run's client would throw.
 *
 * Ours, not Run's, are the codes `run.queue_full`, `run.not_found`, `run.method_not_allowed`,
 * `run.unsupported_media_type`, `run.diagnostics_not_found`, `run.link_unavailable`, `run.closed`, `run.internal`.
 *
 * @param code a problem code of Run, such as `run.invalid_request`
 * @param title names the thing, the rule and the remedy; it repeats nothing of the request
 */
export function refusal(
  status: number,
  code: string,
  title: string,
  fields: readonly { path: string; message: string }[] = [],
): RunProblem {
  return new RunProblem('this Run', { status, problem: code, title, fields });
}

/** One answer for a job that is not there and for one of another person's: neither tells of the other. */
export function jobNotFound(): SkillRunError {
  return new SkillRunError('job_not_found', 'This Run has no such job for this person and project.');
}

/** An error as RFC 9457 says it over HTTP. Of an unexpected one nothing is said. */
export function asProblem(error: unknown): Problem {
  if (error instanceof RunProblem) {
    const { status, problem: code, title = code, fields } = error;
    return { type: 'about:blank', title, status, code, ...(fields.length > 0 && { errors: [...fields] }) };
  }
  const of = (status: number, code: string, title: string): Problem => ({
    type: 'about:blank',
    title,
    status,
    code,
  });
  if (isSkillRunError(error, 'job_not_found')) return of(404, 'run.job_not_found', error.message);
  if (isSkillRunError(error, 'link_unavailable')) return of(503, 'run.link_unavailable', error.message);
  if (isSkillRunError(error, 'closed')) return of(503, 'run.closed', error.message);
  return of(500, 'run.internal', 'This Run met a fault of its own.');
}

/** A problem as an answer. */
export function problemResponse(problem: Problem): Response {
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      ...(problem.status === 401 && { 'www-authenticate': 'Bearer' }),
      ...((problem.status === 429 || problem.status === 503) && { 'retry-after': '1' }),
    },
  });
}
