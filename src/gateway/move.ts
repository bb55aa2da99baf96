import { differences } from '../run/differences.ts';
import { buildJobRequest } from '../run/job-request.ts';
import { planPlacement, type Target } from '../run/place.ts';
import type { RunContext } from '../run/service.ts';
import type { Job, JobRequest } from '../run/wire.ts';
import type { StepAttempt, StepRecord } from '../step/record.ts';
import type { GatewayContext } from './context.ts';

/** Nothing more can be known now. The record stays as it is, and a later resume goes on from it. */
export interface Unknown {
  readonly kind: 'unknown';
  readonly message: string;
  readonly code?: string;
  /** Text that a Run or a node may have written, at most 1024 characters. */
  readonly detail?: string;
}

/** The gateway was closed on the way. */
export const closed: Unknown = {
  kind: 'unknown',
  code: 'closed',
  message: 'The gateway was closed. The step can be resumed.',
};

/** What one move of a submitting step needs beside the step. */
export interface Move {
  readonly context: GatewayContext;
  /** Fires when nobody wants the result any more. */
  readonly cancelled: AbortSignal;
  /** The name under which this move leases the step. */
  readonly holder: string;
  /** The keys of attempts that this move has recorded and not sent yet. */
  readonly unsent: Set<string>;
  /** Milliseconds that this move has waited for each lease of another's. */
  readonly waited: Map<string, number>;
  /** Asks the Run to end the job, once however often it is called. Never rejects. */
  readonly cancelJob: (target: Target, jobId: string) => void;
}

/** Whether nobody wants the result any more: said here, or to any process before. */
export function isCancelled({ cancelled }: Pick<Move, 'cancelled'>, step: StepRecord): boolean {
  return cancelled.aborted || step.cancelAsked;
}

/** Whether it is certain that no Run has a job of the step that could run. */
export function isUnsent(step: StepRecord): boolean {
  return step.attempts.every((attempt) => attempt.state === 'unplaced');
}

/** Where an attempt was submitted, with the nodes that were known then; those of now are looked up at the judging. */
export function targetOf(
  { services }: GatewayContext,
  step: StepRecord,
  attempt: StepAttempt,
): Target | undefined {
  const service = services.find((one) => one.id === attempt.service);
  const { tier } = attempt;
  const { net } = step.run;
  return service && { service, tier, net, nodes: attempt.nodes.map((node) => ({ node, tier, nets: [net] })) };
}

/** A signal of its own for each call: many listeners on one make Node warn of a leak. */
export function runContext({ person, closing }: GatewayContext): RunContext {
  return { person, signal: AbortSignal.any([closing]) };
}

export function requestOf(step: StepRecord, attempt: StepAttempt): JobRequest {
  const { tool, entry, arguments: input, pins, net, limits } = step.run;
  return buildJobRequest({
    tool,
    entry,
    input,
    pins,
    net,
    limits,
    tier: attempt.tier,
    project: step.owner.project,
    key: attempt.key,
  });
}

export function withLast(step: StepRecord, change: Partial<StepAttempt>): readonly StepAttempt[] {
  return step.attempts.map((attempt, index) =>
    index === step.attempts.length - 1 ? { ...attempt, ...change } : attempt,
  );
}

export async function untried(context: GatewayContext, step: StepRecord) {
  const plan = await planPlacement(context.services, { net: step.run.net, context: runContext(context) });
  const target = plan.targets.find(
    ({ service, tier }) => !step.attempts.some((one) => one.service === service.id && one.tier === tier),
  );
  return { target, failures: plan.failures };
}

/** In which parts the job is not the one that this attempt asked for. */
export function differing(
  { person }: GatewayContext,
  step: StepRecord,
  attempt: StepAttempt,
  job: Job,
): string[] {
  return [...differences(requestOf(step, attempt), job, person)];
}

/** A lease from now on. */
export function newLease(
  { clock, leaseMs }: GatewayContext,
  holder: string,
): NonNullable<StepRecord['lease']> {
  return { holder, until: clock.now() + leaseMs };
}
