import type { Decision } from '../../src/approval/decision.ts';
import { createSkillGateway, type SkillGateway } from '../../src/gateway/gateway.ts';
import type { SkillSet } from '../../src/menu/skill-set.ts';
import { createNodeDirectory } from '../../src/run/nodes.ts';
import { createRunService } from '../../src/run/run-service.ts';
import type { Person } from '../../src/run/service.ts';
import type { StorePort } from '../../src/store/port.ts';
import { agentId, token } from './calls.ts';
import { type Effect, storeThrough } from './chaos-store.ts';
import type { Sent } from './evidence.ts';
import { type Life, storeTrouble } from './life.ts';
import { type Network, routeOf } from './network.ts';
import type { Random } from './random.ts';
import type { ProcessPlan, StoreTrouble } from './schedule.ts';
import type { Stage } from './stage.ts';

/** What one life of a process works with. */
export interface ProcessOptions {
  readonly life: Life;
  /** Names the life in what the store did. */
  readonly number: number;
  readonly stage: Stage;
  readonly random: Random;
  readonly store: StorePort;
  readonly skills: SkillSet;
  readonly network: Network;
  readonly person: Person;
  readonly plan: ProcessPlan;
  readonly approvalExpiryMs: number;
  /** What the store does to the calls of now. */
  readonly trouble: () => StoreTrouble | undefined;
  readonly onEffect: (effect: Effect) => void;
  readonly onSent: (sent: Sent) => void;
  readonly onFinished: (step: string) => void;
}

/** The gateway of one life: every port of it goes through that life. */
export function openGateway(options: ProcessOptions): SkillGateway {
  const { life, stage, random, network, person, plan, skills } = options;
  const { clock } = life;
  const fetch: typeof globalThis.fetch = (input, init) => {
    const request = new Request(input, init);
    const signal = AbortSignal.any([request.signal, life.gone]);
    return life.pass(`run.${routeOf(request)}`, () => network.send(new Request(request, { signal })));
  };
  const store = storeThrough(
    options.store,
    (what, call) => {
      const trouble = options.trouble();
      return life.pass(what, () => stage.flight(call), trouble && storeTrouble(random, trouble));
    },
    options.number,
    options.onEffect,
  );
  const nodes = createNodeDirectory({ fetch, clock, ownNodes: () => network.ownNodes });
  const gateway = createSkillGateway({
    person,
    skills,
    clock,
    store,
    agent: { id: agentId, level: plan.mode === 'auto' ? 'auto' : 'ask' },
    session: 's',
    run: createRunService({ token: () => token, fetch, clock, nodes }),
    approvalExpiryMs: options.approvalExpiryMs,
    ...(plan.mode === 'auto' && {
      async policy() {
        await life.point('policy');
        return { effect: 'allow' } as const;
      },
    }),
    ...(plan.mode === 'approver' && {
      approver: ({ id }, { signal }) => answer(options, id, signal),
    }),
  });
  gateway.on('step-finished', ({ step }) => {
    if (life.alive) options.onFinished(step.id);
  });
  return gateway;
}

async function answer(
  { life, plan, onSent }: ProcessOptions,
  step: string,
  signal: AbortSignal,
): Promise<Decision> {
  await life.point('approver');
  await life.clock.sleep(plan.answerMs, signal);
  if (plan.answer === 'throws') throw new Error('The approver failed on order.');
  if (plan.answer === 'nothing') return undefined as never;
  onSent({ kind: plan.answer, step, applied: 'unknown' });
  return plan.answer === 'deny'
    ? { decision: 'deny' }
    : { decision: 'approve', always: plan.answer === 'always' };
}
