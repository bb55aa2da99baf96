import { isSkillRunError, SkillRunError } from '../errors.ts';
import type { Net } from '../skill/caps.ts';
import type { RunContext, RunNode, RunService, Tier } from './service.ts';
import { isEnd, type Job } from './wire.ts';

/** Where a job may be submitted: one tier of one service. */
export interface Target {
  readonly service: RunService;
  readonly tier: Tier;
  readonly net: Net;
  /** The nodes of that tier that can hold the net, as known at the planning. */
  readonly nodes: readonly RunNode[];
}

/** The targets in the order in which they are tried. */
export interface Plan {
  /** Every service's own tier, in the services' order, then every service's pool; none is empty. */
  readonly targets: readonly Target[];
  /**
   * The services whose nodes could not be looked up. While there is one, no pool is a target; but a local Link
   * that has no sandbox (`link_unavailable`) is known to be no machine, and holds no pool back.
   */
  readonly failures: readonly { readonly service: RunService; readonly error: SkillRunError }[];
}

/**
 * Plans the placement of one job, own machines first (ours, from ADR-060). A service that could not be
 * asked may have own nodes, so the pool does not stand in for it. Rejects with `aborted`, and with
 * `option_invalid` where a look-up found a fault of the host's.
 */
export async function planPlacement(
  services: readonly RunService[],
  { net, context }: { net: Net; context: RunContext },
): Promise<Plan> {
  const looks = await Promise.all(
    services.map(async (service) => {
      try {
        const nodes = await service.nodes(context);
        return { service, nodes: nodes.filter((node) => node.nets.includes(net)), error: undefined };
      } catch (error) {
        if (isSkillRunError(error, 'aborted') || isSkillRunError(error, 'option_invalid')) throw error;
        return { service, nodes: [], error: isSkillRunError(error) ? error : lookUpFailed(error) };
      }
    }),
  );
  const failures = looks.flatMap(({ service, error }) => (error === undefined ? [] : [{ service, error }]));
  // A Link that cannot open its sandbox has answered: it is no machine to run on.
  const isAnswered = failures.every(({ error }) => error.code === 'link_unavailable');
  const tiers: readonly Tier[] = isAnswered ? ['own', 'pool'] : ['own'];
  const targets = tiers.flatMap((tier) =>
    looks.flatMap(({ service, nodes }) => {
      const inTier = nodes.filter((node) => node.tier === tier);
      return inTier.length === 0 ? [] : [{ service, tier, net, nodes: inTier }];
    }),
  );
  return { targets, failures };
}

function lookUpFailed(cause: unknown): SkillRunError {
  return new SkillRunError('run_unreachable', 'The nodes of a service could not be looked up.', {
    cause,
    retryable: true,
  });
}

/** How far a submitted job has come: on a node, started, ended, or still in the queue. */
export type Placement =
  | { readonly kind: 'placed' | 'started' | 'ended'; readonly job: Job }
  | { readonly kind: 'not-placed' };

/** Waits until a job is on a node, at most `waitMs` milliseconds. Rejects as `RunService.follow` does. */
export async function awaitPlacement(
  service: RunService,
  jobId: string,
  { context, waitMs }: { context: RunContext; waitMs: number },
): Promise<Placement> {
  const job = await service.follow(jobId, {
    ...context,
    budgetMs: waitMs,
    until: ({ state }) => state !== 'queued',
  });
  if (job === undefined || job.state === 'queued') return { kind: 'not-placed' };
  if (isEnd(job.state)) return { kind: 'ended', job };
  return { kind: hasStarted(job) ? 'started' : 'placed', job };
}

/**
 * What became of a job that was to be taken back. `withdrawn`: it ended without having started, so the
 * next target may be tried. `started`: it runs, follow it. `ended`: it ran, or failed, before the cancel
 * took. `unknown`: nothing was proven, so nothing else may be submitted.
 */
export type Withdrawal =
  | { readonly kind: 'withdrawn' | 'started' | 'ended'; readonly job: Job }
  | { readonly kind: 'unknown' };

/**
 * Takes a job back: asks for a cancel, then waits at most `waitMs` milliseconds for the proof. Only a
 * read of the job is one; the answer to the cancel is not. Can be repeated. Rejects with `aborted`.
 */
export async function withdraw(
  service: RunService,
  jobId: string,
  { context, waitMs }: { context: RunContext; waitMs: number },
): Promise<Withdrawal> {
  // A cancel whose answer was lost may have been heard: the job itself says.
  await orUnknown(service.cancel(jobId, context));
  const job = await orUnknown(service.follow(jobId, { ...context, budgetMs: waitMs, until: hasStarted }));
  if (job === undefined) return { kind: 'unknown' };
  if (neverStarted(job)) return { kind: 'withdrawn', job };
  if (isEnd(job.state)) return { kind: 'ended', job };
  return hasStarted(job) ? { kind: 'started', job } : { kind: 'unknown' };
}

async function orUnknown<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (!isSkillRunError(error) || error.code === 'aborted' || error.code === 'option_invalid') throw error;
    return undefined;
  }
}

/** Whether a job's end proves that none of its code ran. */
export function neverStarted(job: Job): boolean {
  return (job.state === 'cancelled' || job.state === 'expired') && job.timings.started_at === null;
}

function hasStarted(job: Job): boolean {
  return job.state === 'running' || job.timings.started_at !== null;
}

/**
 * Judges where a job is, or was: `unplaced` (on no node, and not started), `allowed` (on a node of its
 * target), `violation` (anywhere else). A node that was not known at the planning is judged by one fresh
 * look-up; when that fails, it rejects, and nothing of the job may be used.
 */
export async function checkPlacement(
  job: Job,
  target: Target,
  context: RunContext,
): Promise<'unplaced' | 'allowed' | 'violation'> {
  const { service, tier, net } = target;
  if (job.placement === null) {
    return hasStarted(job) || job.state === 'placed' || job.state === 'succeeded' ? 'violation' : 'unplaced';
  }
  const at = job.placement.node;
  if (target.nodes.some(({ node }) => node === at)) return 'allowed';
  const now = await service.nodes(context, { fresh: true });
  const known = now.some((node) => node.node === at && node.tier === tier && node.nets.includes(net));
  return known ? 'allowed' : 'violation';
}
