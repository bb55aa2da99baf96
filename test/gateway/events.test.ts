import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../src/approval/decision.ts';
import type { PolicyAnswer } from '../../src/approval/policy.ts';
import type { GatewayEvents } from '../../src/gateway/events.ts';
import type { SkillGateway } from '../../src/gateway/gateway.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { MockFault } from '../../src/testing/mock-faults.ts';
import type { MockEnd } from '../../src/testing/mock-script.ts';
import { agentId, ann, approve, eventNames, harness, passing, until } from '../support/harness.ts';

const by = ann.subject;

type Told = {
  [Name in keyof GatewayEvents]: { name: Name; event: GatewayEvents[Name] };
}[keyof GatewayEvents];

/** Everything that a gateway tells, in order. */
function listen(gateway: SkillGateway): Told[] {
  const told: Told[] = [];
  for (const name of eventNames) gateway.on(name, (event) => void told.push({ name, event } as Told));
  return told;
}

/** The events of each step, as one word a step. */
function words(told: readonly Told[]): string[] {
  const steps = new Map<string, string>();
  for (const { name, event } of told) {
    if (!name.startsWith('step-')) continue;
    const { id } = (event as GatewayEvents['step-pending']).step;
    steps.set(id, `${steps.get(id) ?? ''}${name.slice(5)} `);
  }
  return [...steps.values()];
}

describe('listeners', () => {
  test('C109: one that throws starves nobody, changes nothing and is told of', async () => {
    const h = await harness({ gateway: { approver: approve } });
    const fault = new Error('a listener of the host');
    h.gateway.on('step-finished', () => {
      throw fault;
    });
    const rejecting = async () => {
      throw fault;
    };
    h.gateway.on('step-finished', rejecting);
    const told = listen(h.gateway);
    const outcome = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    expect(outcome.status).toBe('completed');
    expect(told.filter(({ name }) => name === 'step-finished')).toHaveLength(1);
    await until(() => told.filter(({ name }) => name === 'listener-error').length === 2);
    expect(told.find(({ name }) => name === 'listener-error')?.event).toEqual({
      event: 'step-finished',
      error: fault,
    });
  });

  test('a listener of listener-error that throws is the end of it', async () => {
    const h = await harness({ gateway: { approver: approve } });
    for (const name of ['listener-error', 'step-finished'] as const) {
      h.gateway.on(name, () => {
        throw new Error(name);
      });
    }
    expect((await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } })).status).toBe(
      'completed',
    );
  });

  test('C110: without any listener a fault is an outcome and nothing else', async () => {
    const memory = createMemoryStore();
    const broken = {
      ...memory,
      steps: { ...memory.steps, create: () => Promise.reject(new Error('disk full')) },
    };
    const h = await harness();
    const gateway = h.other({ store: broken, approver: approve });
    h.mock.next({ fail: 'run.job.exit_nonzero', exitCode: 1 });
    const call = { id: 'c1', name: h.slugify, arguments: { title: 'a' } };
    expect(await gateway.call(call)).toMatchObject({
      status: 'run_error',
      executed: false,
      code: 'port-failed',
    });
    expect((await h.other({ approver: approve }).call(call)).status).toBe('tool_failed');
  });

  test('a subscription ends when it is called or disposed of', async () => {
    const h = await harness();
    const seen: string[] = [];
    const one = h.gateway.on('step-pending', () => void seen.push('one'));
    {
      using _two = h.gateway.on('step-pending', () => void seen.push('two'));
      await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    }
    one();
    await h.gateway.call({ id: 'c2', name: h.slugify, arguments: { title: 'a' } });
    expect(seen).toEqual(['one', 'two']);
  });

  test('events() iterates from the call on, until the loop is left or the gateway closes', async () => {
    const h = await harness({ gateway: { approver: approve } });
    const finished = h.gateway.events('step-finished');
    const rest = h.gateway.events('call-finished');
    await h.gateway.callAll([
      { id: 'c1', name: h.slugify, arguments: { title: 'a' } },
      { id: 'c2', name: h.slugify, arguments: { title: 'b' } },
    ]);
    const seen: string[] = [];
    for await (const { status } of finished) {
      seen.push(status);
      if (seen.length === 2) break;
    }
    expect(seen).toEqual(['completed', 'completed']);
    expect(await finished.next()).toEqual({ done: true, value: undefined });
    await h.gateway.close();
    const calls: string[] = [];
    for await (const { call } of rest) calls.push(call.id);
    expect(calls.sort()).toEqual(['c1', 'c2']);
  });
});

interface Scene {
  readonly policy: PolicyAnswer['effect'] | 'throws' | 'none';
  readonly level: 'observe' | 'ask' | 'auto';
  readonly decision: 'approve' | 'always' | 'deny' | 'throws' | 'never';
  readonly end: MockEnd;
  readonly fault: MockFault | undefined;
  readonly nodes: boolean;
  readonly abort: boolean;
  /** Whether the agent's allowance has room for a run. */
  readonly room: boolean;
  /** Whether the person speaks instead of deciding. */
  readonly speaks: boolean;
  /** Whether the registry still lists the skill. */
  readonly listed: boolean;
}

const submitFault = (status: number, code: string): MockFault => ({
  on: 'submit',
  kind: 'problem',
  status,
  code,
});

const scene: fc.Arbitrary<Scene> = fc.record({
  policy: fc.constantFrom('none', 'none', 'allow', 'allow', 'ask', 'deny', 'throws'),
  level: fc.constantFrom('ask', 'ask', 'auto', 'auto', 'observe'),
  decision: fc.constantFrom('approve', 'approve', 'approve', 'always', 'deny', 'throws', 'never'),
  end: fc.constantFrom<MockEnd[]>(
    { result: 1 },
    { fail: 'run.job.exit_nonzero', exitCode: 1 },
    { limit: true },
    { expired: true },
    { cancelled: true },
    { fail: 'run.job.worker_failed', started: false },
    { result: 1, node: 'elsewhere' },
    { result: 1, lie: { egress: 'public' } },
  ),
  fault: fc.constantFrom<(MockFault | undefined)[]>(
    undefined,
    undefined,
    submitFault(402, 'billing.balance_exhausted'),
    submitFault(403, 'capability.denied'),
    submitFault(500, 'run.internal'),
    { on: 'get', kind: 'garbage', times: 4 },
  ),
  nodes: fc.constantFrom(true, true, true, false),
  abort: fc.constantFrom(false, false, false, true),
  room: fc.constantFrom(true, true, true, false),
  speaks: fc.constantFrom(false, false, false, true),
  listed: fc.constantFrom(true, true, true, false),
});

const plain: Scene = {
  policy: 'none',
  level: 'ask',
  decision: 'approve',
  end: { result: 1 },
  fault: undefined,
  nodes: true,
  abort: false,
  room: true,
  speaks: false,
  listed: true,
};
/** One scene for every end that a step can have, whatever else is drawn. */
const scenes: Record<string, Scene> = {
  completed: plain,
  tool_failed: { ...plain, end: { fail: 'run.job.exit_nonzero', exitCode: 1 } },
  limit: { ...plain, end: { limit: true } },
  denied: { ...plain, decision: 'deny' },
  expired: { ...plain, decision: 'never' },
  cancelled: { ...plain, abort: true },
  refused: { ...plain, policy: 'deny' },
  superseded: { ...plain, decision: 'never', speaks: true },
  no_approver: { ...plain, decision: 'throws' },
  skill_unavailable: { ...plain, listed: false },
  allowance_exhausted: { ...plain, room: false },
  no_node: { ...plain, nodes: false },
  placement_violation: { ...plain, end: { result: 1, node: 'elsewhere' } },
  balance_exhausted: { ...plain, fault: submitFault(402, 'billing.balance_exhausted') },
  outcome_unknown: { ...plain, fault: submitFault(500, 'run.internal') },
  run_error: { ...plain, fault: submitFault(403, 'capability.denied') },
};

describe('C112: the events of a step', () => {
  test('for every way in which a call can go: pending, decided, submitted, and one finished', async () => {
    const statuses = new Set<string>();
    await fc.assert(
      fc.asyncProperty(scene, async (told) => {
        const deciding: Record<Scene['decision'], () => Promise<Decision>> = {
          approve,
          always: async () => ({ decision: 'approve', always: true }),
          deny: async () => ({ decision: 'deny' }),
          throws: () => Promise.reject(new Error('down')),
          never: () => new Promise(() => {}),
        };
        const policy = (): PolicyAnswer => {
          if (told.policy === 'throws') throw new Error('down');
          return { effect: told.policy as PolicyAnswer['effect'] };
        };
        const h = await harness({
          gateway: {
            agent: { id: agentId, level: told.level, alone: true },
            allowance: { seconds: told.room ? 10 : 9, period: 'day' },
            ...(!told.listed && { registry: { listing: async () => null } }),
            approvalExpiryMs: 60_000,
            approver: deciding[told.decision],
            ...(told.policy !== 'none' && { policy }),
          },
          mock: { nodes: told.nodes ? [{ node: 'node-pool-1', trust: 'first-party' }] : [] },
        });
        const heard = listen(h.gateway);
        h.mock.next(told.end);
        if (told.fault) h.mock.fault(told.fault);
        const controller = new AbortController();
        const call = { id: 'c1', name: h.slugify, arguments: { title: 'a' } };
        h.gateway.on('step-pending', () => told.abort && controller.abort());
        h.gateway.on('step-pending', () => told.speaks && h.gateway.newTurn({ supersede: true }));
        const outcome = await passing(h.clock, h.gateway.call(call, { signal: controller.signal }));
        statuses.add(outcome.status);
        const [word = '', ...others] = words(heard);
        expect(others).toEqual([]);
        const finished = !['outcome_unknown', 'awaiting_approval'].includes(outcome.status);
        expect(word).toMatch(/^(pending )?(decided )?(submitted )?(finished )?$/);
        if (finished) expect(word).toMatch(/finished $/);
        if (word.includes('submitted')) expect(word).toContain('decided');
        expect(heard.filter(({ name }) => name === 'call-finished').map(({ event }) => event)).toEqual([
          { call: outcome.call, status: outcome.status, executed: outcome.executed },
        ]);
        const last = heard.find(({ name }) => name === 'step-finished')?.event;
        if (last) expect(last).toMatchObject({ status: outcome.status, executed: outcome.executed });
      }),
      { numRuns: 100, examples: Object.values(scenes).map((told) => [told]) },
    );
    expect([...statuses]).toEqual(expect.arrayContaining(Object.keys(scenes)));
  });

  test('a call that becomes no step finishes all the same, once', async () => {
    const h = await harness();
    const told = listen(h.gateway);
    await h.gateway.callAll([
      { id: 'c1', name: 'nothing', arguments: {} },
      { id: 'c2', name: h.slugify, arguments: 'no JSON' },
      { id: 'c3', name: { toString: 1 } as never, arguments: {} },
      { id: 'c4', name: undefined as never, arguments: {} },
    ]);
    expect(told.map(({ name }) => name)).toEqual(Array(4).fill('call-finished'));
  });

  test('C20: two denials at once are one decision', async () => {
    const h = await harness();
    const told = listen(h.gateway);
    const id =
      (await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } })).step?.id ?? '';
    await Promise.allSettled([h.gateway.approvals.deny(id, { by }), h.gateway.approvals.deny(id, { by })]);
    expect(words(told)).toEqual(['pending decided finished ']);
  });

  test('no event holds an argument or a result', async () => {
    const h = await harness({
      gateway: { approver: async () => ({ decision: 'approve', always: true, reason: 'a-reason' }) },
    });
    const told = listen(h.gateway);
    h.mock.next({ result: { out: 'a-result' }, output: ['a-chunk'] });
    h.mock.next({ fail: 'run.job.exit_nonzero', exitCode: 1, detail: 'a-detail', stderr: 'a-stderr' });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'an-argument' } });
    await h.gateway.call({ id: 'c2', name: h.slugify, arguments: { title: 'an-argument' } });
    expect(told.length).toBeGreaterThan(6);
    expect(JSON.stringify(told)).not.toMatch(/an-argument|a-result|a-chunk|a-detail|a-stderr/);
  });
});

describe('C113, C25: policy', () => {
  test('one that throws refuses, one that is heard is heard once, also over a resume elsewhere', async () => {
    const store = createMemoryStore();
    let heard = 0;
    const policy = (): PolicyAnswer => {
      heard += 1;
      if (heard > 1) throw new Error('heard twice');
      return { effect: 'ask' };
    };
    const h = await harness({ gateway: { store, policy } });
    const id =
      (await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } })).step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    const other = h.other({ store: createMemoryStore(store.snapshot()) });
    expect((await other.resume(id)).status).toBe('completed');
    expect(heard).toBe(1);
    const refused = await h.gateway.call({ id: 'c2', name: h.slugify, arguments: { title: 'a' } });
    expect(refused).toMatchObject({ status: 'refused', executed: false, code: 'policy-failed' });
    expect(h.mock.jobs).toBe(1);
  });
});
