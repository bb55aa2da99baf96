import type { Job } from '../run/wire.ts';
import { maxJsonBytes } from '../skill/caps.ts';
import type { Json } from '../skill/json.ts';
import { utf8 } from '../skill/sha256.ts';
import type { EndStatus, JobSummary, StepEnd } from '../step/end.ts';

/** How a step ends by its job's end, and the result where there is one. */
export interface Settled {
  readonly end: Omit<StepEnd, 'at'>;
  readonly value?: { readonly value: Json };
}

/** What is kept of a job. */
export function jobSummary(job: Job, tier: 'own' | 'pool'): JobSummary {
  return {
    id: job.id,
    node: job.placement?.node ?? null,
    tier,
    wallMs: job.usage.wall_ms,
    cpuMs: job.usage.cpu_ms,
    memPeakBytes: job.usage.mem_peak_bytes,
    seconds: job.usage.seconds,
    exit: job.exit,
  };
}

/** The end of a step whose job has ended. Texts of the job stay apart, as `detail`. */
export function settle(job: Job, tier: 'own' | 'pool'): Settled {
  const summary = jobSummary(job, tier);
  if (job.state === 'succeeded') {
    if (utf8(JSON.stringify(job.result)).length > maxJsonBytes) {
      const message = 'Run answered a result that is larger than a tool may give. It was withheld.';
      return {
        end: { status: 'run_error', executed: true, code: 'result-too-large', message, job: summary },
      };
    }
    const end = {
      status: 'completed',
      executed: true,
      message: 'The tool ran and answered.',
      job: summary,
    } as const;
    return { end, value: { value: job.result } };
  }
  const { status, executed, message } = unsuccessful(job);
  const code = job.error === null ? {} : { code: job.error.code.slice(0, 128) };
  const detail = job.error?.detail ? { detail: job.error.detail } : {};
  return { end: { status, executed, message, ...code, ...detail, job: summary } };
}

function unsuccessful(job: Job): { status: EndStatus; executed: boolean; message: string } {
  const started = job.timings.started_at !== null;
  const code = job.error?.code;
  if (job.state === 'cancelled') {
    return { status: 'cancelled', executed: started, message: `The job was cancelled ${ranOrNot(started)}.` };
  }
  if (code === 'run.job.unplaceable') {
    return { status: 'no_node', executed: false, message: 'No node took the job in time. Nothing ran.' };
  }
  if (code === 'run.job.limit') {
    const message = started
      ? 'The tool went over its limits and was stopped.'
      : `The job went over its limits ${ranOrNot(started)}.`;
    return { status: 'limit', executed: started, message };
  }
  if (code === 'run.job.ttl') {
    return { status: 'limit', executed: started, message: `The job ran out of time ${ranOrNot(started)}.` };
  }
  if (code === 'run.job.exit_nonzero' && started) {
    return {
      status: 'tool_failed',
      executed: true,
      message: 'The tool ran and failed. It gave no result.',
    };
  }
  // Run's contract: with exit `failed` these two mean that the code never ran.
  if (
    code === 'run.job.input_digest_mismatch' ||
    (code === 'run.job.worker_failed' && job.exit?.reason === 'failed')
  ) {
    return { status: 'run_error', executed: false, message: 'The node refused the job. Nothing ran.' };
  }
  return { status: 'run_error', executed: started, message: `The node failed the job ${ranOrNot(started)}.` };
}

function ranOrNot(started: boolean): string {
  return started ? 'after the tool had started' : 'before the tool had started; nothing ran';
}
