import type { Decision } from '../../src/approval/decision.ts';
import type { Clock } from '../../src/clock.ts';
import { createSkillGateway, type SkillGateway } from '../../src/gateway/gateway.ts';
import type { RegistryPort } from '../../src/gateway/registry-port.ts';
import type { SkillSet } from '../../src/menu/skill-set.ts';
import { createNodeDirectory } from '../../src/run/nodes.ts';
import { createRunService } from '../../src/run/run-service.ts';
import type { Person } from '../../src/run/service.ts';
import type { StorePort } from '../../src/store/port.ts';
import { agentId, token } from './calls.ts';
import type { Sent } from './evidence.ts';
import { ownNode } from './network.ts';
import type { ProcessPlan } from './schedule.ts';

/** What one process works with: ports in which it can die. */
export interface ProcessOptions {
  readonly clock: Clock;
  readonly store: StorePort;
  readonly fetch: typeof globalThis.fetch;
  readonly registry: RegistryPort;
  /** An await point of the host's own. */
  readonly point: (what: string) => Promise<void>;
  readonly skills: SkillSet;
  readonly person: Person;
  readonly plan: ProcessPlan;
  readonly approvalExpiryMs: number;
  /** Where the Run and the network are. Default: the mock's own. */
  readonly baseUrl?: string;
  /** Default 30000. */
  readonly leaseMs?: number;
  readonly onSent: (sent: Sent) => unknown;
  readonly onFinished: (step: string) => void;
}

/** The gateway of one process. */
export function openGateway(options: ProcessOptions): SkillGateway {
  const { clock, store, fetch, point, person, plan, skills, approvalExpiryMs, leaseMs = 30_000 } = options;
  const { ceiling, listingMaxAgeMs } = plan;
  const at = options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl };
  const nodes = createNodeDirectory({ ...at, fetch, clock, ownNodes: () => [ownNode] });
  const gateway = createSkillGateway({
    person,
    skills,
    clock,
    store,
    agent: { id: agentId, level: plan.mode === 'auto' ? 'auto' : 'ask', alone: ceiling !== null },
    ...(ceiling !== null && { allowance: { seconds: ceiling, period: 'day' } }),
    ...(listingMaxAgeMs !== null && { registry: options.registry, listingMaxAgeMs }),
    session: 's',
    run: createRunService({ ...at, id: 'run', token: () => token, fetch, clock, nodes }),
    approvalExpiryMs,
    leaseMs,
    ...(plan.mode === 'auto' && {
      async policy() {
        await point('policy');
        return { effect: 'allow' } as const;
      },
    }),
    ...(plan.mode === 'approver' && { approver: ({ id }, { signal }) => answer(options, id, signal) }),
  });
  gateway.on('step-finished', ({ step }) => options.onFinished(step.id));
  return gateway;
}

async function answer(
  { point, clock, plan, onSent }: ProcessOptions,
  step: string,
  signal: AbortSignal,
): Promise<Decision> {
  await point('approver');
  await clock.sleep(plan.answerMs, signal);
  if (plan.answer === 'throws') throw new Error('The approver failed on order.');
  if (plan.answer === 'nothing') return undefined as never;
  await onSent({ kind: plan.answer, step, applied: 'unknown' });
  return plan.answer === 'deny'
    ? { decision: 'deny' }
    : { decision: 'approve', always: plan.answer === 'always' };
}
