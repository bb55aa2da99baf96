import { isSkillRunError } from '../errors.ts';
import { idempotencyKey } from '../run/job-request.ts';
import type { Target } from '../run/place.ts';
import { RunProblem } from '../run/problem.ts';
import type { Job } from '../run/wire.ts';
import type { StepEnd } from '../step/end.ts';
import type { StepAttempt, StepRecord } from '../step/record.ts';
import { followJob, takeBack } from './job.ts';
import {
  type Move,
  newLease,
  requestOf,
  runContext,
  targetOf,
  type Unknown,
  untried,
  withLast,
} from './move.ts';
import { summaryOf } from './outcome.ts';
import { audit, finish, save } from './record.ts';

const closed: Unknown = {
  kind: 'unknown',
  code: 'closed',
  message: 'The gateway was closed. The step can be resumed.',
};

/** The next thing to do for a claimed step. `undefined`: the step has changed, look again. */
export async function moveOn(move: Move, step: StepRecord): Promise<Unknown | undefined> {
  const attempt = step.attempts.at(-1);
  try {
    if (attempt === undefined || attempt.state === 'unplaced') return await nextAttempt(move, step);
    const target = targetOf(move.context, step, attempt);
    if (target === undefined) {
      const message =
        'The Run that has its job is not one of this gateway. Resume it where that Run is known.';
      return { kind: 'unknown', code: 'service-missing', message };
    }
    if (attempt.job === null) return await submit(move, step, attempt, target);
    if (attempt.state === 'withdrawing') return await takeBack(move, step, attempt, attempt.job, target);
    return await followJob(move, step, attempt, attempt.job, target);
  } catch (error) {
    if (!isSkillRunError(error) || error.code === 'option_invalid' || error.code === 'store_conflict')
      throw error;
    if (error.code === 'aborted') return closed;
    return {
      kind: 'unknown',
      code: error.code,
      message: `What became of it could not be learned: ${error.message}`,
    };
  }
}

async function nextAttempt({ context, cancelled, holder }: Move, step: StepRecord): Promise<undefined> {
  if (cancelled.aborted) {
    const message = 'Cancelled before any node had it. Nothing ran.';
    await finish(context, step, 'ended', { status: 'cancelled', executed: false, message }, 'cancel');
    return;
  }
  const { target, failures } = await untried(context, step);
  if (target === undefined) {
    const reasons = failures.map(({ error }) => error.message);
    const lookedUp = failures.every(({ error }) => error.code === 'link_unavailable');
    await finish(context, step, 'ended', {
      status: lookedUp ? 'no_node' : 'run_error',
      executed: false,
      message: [
        lookedUp
          ? 'No machine can run it now. Nothing ran.'
          : 'The nodes could not be looked up. Nothing ran.',
        ...reasons,
      ].join(' '),
      code: lookedUp ? 'no-node' : 'nodes-unknown',
    });
    return;
  }
  const key = idempotencyKey(step.id, step.attempts.length + 1);
  const attempt = { service: target.service.id, tier: target.tier, key, job: null, state: 'open' } as const;
  await audit(context, 'submit', step, { job: key });
  await save(context, step, {
    state: 'submitting',
    attempts: [...step.attempts, attempt],
    lease: newLease(context, holder),
  });
}

async function submit(
  move: Move,
  step: StepRecord,
  attempt: StepAttempt,
  { service }: Target,
): Promise<Unknown | undefined> {
  const { context } = move;
  const request = requestOf(step, attempt);
  let job: Job;
  try {
    job = (await service.submit(request, runContext(context))).job;
  } catch (error) {
    if (isSkillRunError(error, 'link_unavailable')) {
      await save(context, step, { attempts: withLast(step, { state: 'unplaced' }) });
      return undefined;
    }
    // A refusal of the caller is a proof that nothing was made of it; anything else is not.
    if (error instanceof RunProblem && error.status >= 400 && error.status < 500 && error.status !== 409) {
      await finish(context, step, 'ended', refusal(error));
      return undefined;
    }
    await save(context, step, { lease: null });
    throw error;
  }
  const submitted = await save(context, step, {
    state: 'submitted',
    attempts: withLast(step, { job: job.id }),
    lease: null,
  });
  if (submitted === undefined) return undefined;
  const { id: serviceId } = service;
  context.events.emit('step-submitted', {
    step: summaryOf(submitted),
    job: job.id,
    tier: attempt.tier,
    service: serviceId,
  });
  return undefined;
}

function refusal(error: RunProblem): Omit<StepEnd, 'at'> {
  const code = error.problem;
  if (error.status === 402 || code.startsWith('billing.')) {
    const message = "Run refused the job for want of the person's Balance. Nothing ran.";
    return { status: 'balance_exhausted', executed: false, message, code };
  }
  const detail = error.detail === undefined ? {} : { detail: error.detail };
  const message = `Run refused the job (status ${error.status}). Nothing ran.`;
  return { status: 'run_error', executed: false, message, code, ...detail };
}
