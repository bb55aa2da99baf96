import { isSkillRunError } from '../errors.ts';
import { netWords } from '../menu/words.ts';
import { idempotencyKey } from '../run/job-request.ts';
import type { Plan, Target } from '../run/place.ts';
import { RunProblem } from '../run/problem.ts';
import { RunUnreachable } from '../run/unreachable.ts';
import type { Job } from '../run/wire.ts';
import type { StepEnd } from '../step/end.ts';
import type { StepAttempt, StepRecord } from '../step/record.ts';
import { isStepEnd } from '../step/transitions.ts';
import type { GatewayContext } from './context.ts';
import { cancelStep } from './decide.ts';
import { holdAllowance } from './hold.ts';
import { followJob, takeBack } from './job.ts';
import {
  closed,
  isCancelled,
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
import { audit, auditConflict, finish, load, save } from './record.ts';
import { fall, isRevoked, lookAgain } from './stand.ts';

const maxDetail = 1024;
const maxNodes = 100;
const unsure =
  'A submit was never answered, and the registry does not answer now: it was not sent again. It can be resumed.';

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
    const following = { step, attempt, jobId: attempt.job, target };
    return await (attempt.state === 'withdrawing' ? takeBack : followJob)(move, following);
  } catch (error) {
    if (!isSkillRunError(error) || error.code === 'option_invalid' || error.code === 'store_conflict')
      throw error;
    if (error.code === 'aborted') return closed;
    return {
      kind: 'unknown',
      code: error instanceof RunProblem ? error.problem : error.code,
      message: 'What became of it could not be learned. It can be resumed.',
      detail: error.message.slice(0, maxDetail),
    };
  }
}

async function nextAttempt(move: Move, found: StepRecord): Promise<undefined> {
  const { context, holder } = move;
  const { target, failures } = await untried(context, found);
  if (isCancelled(move, found)) {
    await cancelStep(context, found, 'cancelled', 'Cancelled before any node had it. Nothing ran.');
    return;
  }
  const held = await holdAllowance(context, found);
  if (held === undefined) return;
  const { step, exhausted } = held;
  // The last look before the submit: after it nothing is awaited but the record that it is made.
  const standing = await lookAgain(context, step);
  if (standing.why !== 'stands') {
    await fall(context, step, standing);
    return;
  }
  if (target === undefined) {
    await finish(context, step, 'ended', nowhere(step, failures));
    return;
  }
  if (exhausted !== undefined) {
    const end = { status: 'allowance_exhausted', executed: false, code: 'allowance' } as const;
    await finish(context, step, 'ended', { ...end, message: exhausted }, 'refuse');
    return;
  }
  const key = idempotencyKey(step.id, step.attempts.length + 1);
  const nodes = target.nodes.slice(0, maxNodes).map(({ node }) => node);
  const { service, tier } = target;
  const attempt = { service: service.id, tier, nodes, key, job: null, state: 'open' } as const;
  await audit(context, 'submit', step, { job: key, now: standing.now });
  const recorded = await save(context, step, {
    state: 'submitting',
    attempts: [...step.attempts, attempt],
    lease: newLease(context, holder),
  });
  if (recorded === undefined) await auditConflict(context, 'submit', step);
  else move.unsent.add(key);
}

// What this machine's own Link says of itself are our words; what a service answered is not.
function nowhere(step: StepRecord, failures: Plan['failures']): Omit<StepEnd, 'at'> {
  const errors = failures.map(({ error }) => error);
  const own = errors.filter(({ code }) => code === 'link_unavailable').map(({ message }) => message);
  if (own.length === errors.length) {
    const message = `No machine can run it with ${netWords[step.run.net]} now. Nothing ran.`;
    return { status: 'no_node', executed: false, message: [message, ...own].join(' '), code: 'no-node' };
  }
  const others = errors.filter(({ code }) => code !== 'link_unavailable').map(({ message }) => message);
  const detail = others.join(' ').slice(0, maxDetail);
  const message = 'The nodes could not be looked up. Nothing ran.';
  return { status: 'run_error', executed: false, message, code: 'nodes-unknown', detail };
}

async function submit(
  move: Move,
  step: StepRecord,
  attempt: StepAttempt,
  target: Target,
): Promise<Unknown | undefined> {
  const { context } = move;
  const { service } = target;
  // Only what this move sends for the first time can be said never to have been sent.
  const first = move.unsent.delete(attempt.key);
  if (isCancelled(move, step)) {
    await finish(context, step, 'ended', cancelledUnanswered(first), 'cancel');
    return undefined;
  }
  if (first) {
    // A person may have revoked it while the record was written, and been told that it is.
    if (await isRevoked(context, step)) {
      await auditConflict(context, 'submit', step);
      await fall(context, withoutLast(step), { why: 'revoked' });
      return undefined;
    }
  } else {
    const standing = await lookAgain(context, step);
    // What is only not known now may be known later: the step can be resumed.
    if (standing.why === 'registry-down') return { kind: 'unknown', code: standing.code, message: unsure };
    if (standing.why !== 'stands') {
      await finish(context, step, 'ended', notSentAgain);
      return undefined;
    }
  }
  const request = requestOf(step, attempt);
  let job: Job;
  try {
    job = (await service.submit(request, runContext(context))).job;
  } catch (error) {
    if (first && isSkillRunError(error, 'link_unavailable')) {
      await save(context, step, { attempts: withLast(step, { state: 'unplaced' }) });
      return undefined;
    }
    // Of a first submit, a refusal proves that nothing was made of it; anything else does not.
    if (first && error instanceof RunProblem && isRefusal(error)) {
      await finish(context, step, 'ended', refusal(error));
      return undefined;
    }
    if (first && sentNothing(error)) {
      context.events.emit('fault', { step: step.id, error });
      const message = "Nothing could be sent to Run, for a fault on the host's side. Nothing ran.";
      await finish(context, step, 'ended', {
        status: 'run_error',
        executed: false,
        message,
        code: 'not-sent',
      });
      return undefined;
    }
    await save(context, step, { lease: null });
    throw error;
  }
  const submitted = await noteJob(context, step, attempt, job.id);
  if (submitted === undefined) {
    const now = await load(context, step.id);
    if (now !== undefined && isStepEnd(now.state)) move.cancelJob(target, job.id);
    return undefined;
  }
  context.events.emit('step-submitted', {
    step: summaryOf(submitted),
    job: job.id,
    tier: attempt.tier,
    service: service.id,
  });
  return undefined;
}

// As before the attempt was recorded of which nothing was sent.
function withoutLast(step: StepRecord): StepRecord {
  return { ...step, attempts: step.attempts.slice(0, -1) };
}

// Over a cancel that was noted while the submit was on its way, so that the job to cancel is known.
async function noteJob(
  context: GatewayContext,
  step: StepRecord,
  attempt: StepAttempt,
  job: string,
): Promise<StepRecord | undefined> {
  for (let at: StepRecord | undefined = step; at !== undefined; at = await load(context, at.id)) {
    const last = at.attempts.at(-1);
    if (at.state !== 'submitting' || last?.key !== attempt.key || last.job !== null) return undefined;
    const attempts = withLast(at, { job });
    const submitted = await save(context, at, { state: 'submitted', attempts, lease: null });
    if (submitted !== undefined) return submitted;
  }
  return undefined;
}

function cancelledUnanswered(unsent: boolean): Omit<StepEnd, 'at'> {
  if (unsent) {
    return { status: 'cancelled', executed: false, message: 'Cancelled before it was sent. Nothing ran.' };
  }
  const message =
    'Cancelled after a submit that was never answered: whether it ran is not known. It was not sent again.';
  return { status: 'cancelled', executed: 'unknown', message };
}

const notSentAgain = {
  status: 'outcome_unknown',
  executed: 'unknown',
  code: 'not-sent-again',
  message:
    'A submit was never answered, and what was approved no longer stands: it was not sent again. Whether it ran is not known.',
} as const;

function sentNothing(error: unknown): boolean {
  return isSkillRunError(error, 'option_invalid') || (error instanceof RunUnreachable && error.sent === 0);
}

// 408 says that the service gave up on hearing it, 409 that the key is known for other work.
function isRefusal({ status, doubtful }: RunProblem): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 409 && !doubtful;
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
