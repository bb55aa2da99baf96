import { describe, expect, test } from 'vitest';
import type { Policy, PolicyAnswer } from '../../src/approval/policy.ts';
import { rule } from '../../src/approval/policy.ts';
import { verifySkills } from '../../src/menu/skill-set.ts';
import { type Net, nets } from '../../src/skill/caps.ts';
import type { AgentLevel } from '../../src/step/record.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { agentId, ann, harness, nameOf, passing } from '../support/harness.ts';
import { someContext } from '../support/policy.ts';
import { makeSkill } from '../support/skills.ts';
import { someRun, someStep } from '../support/step.ts';

const by = ann.subject;
const levels: readonly AgentLevel[] = ['observe', 'ask', 'auto'];
const effects: readonly (PolicyAnswer['effect'] | 'none')[] = ['none', 'allow', 'ask', 'deny'];

// The whole table: how wide a step may go by itself is never more than the narrower of level and policy.
function expected(level: AgentLevel, effect: PolicyAnswer['effect'] | 'none', net: Net): string {
  if (level === 'observe' || effect === 'deny') return 'refuse';
  return level === 'auto' && effect === 'allow' && net === 'deny' ? 'allow' : 'ask';
}

async function toolWith(net: Net) {
  const skills = await verifySkills([
    await makeSkill({ document: (d) => void Object.assign(d.tools?.[0] ?? {}, { net }) }),
  ]);
  return { skills, name: nameOf(skills, 'slugify') };
}

const statusOf = { refuse: 'refused', ask: 'awaiting_approval', allow: 'completed' } as Record<
  string,
  string
>;

describe('level, policy and network', () => {
  const table = levels.flatMap((level) =>
    effects.flatMap((effect) => nets.map((net) => [level, effect, net] as const)),
  );
  test.each(table)('level %s, policy %s, net %s', async (level, effect, net) => {
    const wanted = expected(level, effect, net);
    const step = someStep({ run: { ...someRun, net } });
    const policy: Policy | undefined = effect === 'none' ? undefined : () => ({ effect });
    expect((await rule(step, someContext({ level }), policy)).effect).toBe(wanted);

    const { skills, name } = await toolWith(net);
    const h = await harness({
      gateway: { skills, agent: { id: agentId, level }, ...(policy && { policy }) },
    });
    const outcome = await h.gateway.call({ id: 'c1', name, arguments: { title: 'a' } });
    expect(outcome.status).toBe(statusOf[wanted]);
    expect(h.mock.jobs).toBe(wanted === 'allow' ? 1 : 0);
  });

  test('a tool with network runs on a person’s decision, and later on the grant that came with it', async () => {
    const { skills, name } = await toolWith('public');
    const h = await harness({
      gateway: { skills, agent: { id: agentId, level: 'auto' }, policy: () => ({ effect: 'allow' }) },
    });
    const id = (await h.gateway.call({ id: 'c1', name, arguments: { title: 'a' } })).step?.id ?? '';
    await h.gateway.approvals.approve(id, { by, always: true });
    expect((await h.gateway.resume(id)).status).toBe('completed');
    expect((await h.gateway.call({ id: 'c2', name, arguments: { title: 'b' } })).status).toBe('completed');
    expect(h.mock.jobs).toBe(2);
  });

  test('a deny of policy beats a grant, and an observing agent has no use of one', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, agent: { id: agentId } } });
    const call = (id: string) => ({ id, name: h.slugify, arguments: { title: id } });
    const id = (await h.gateway.call(call('c1'))).step?.id ?? '';
    await h.gateway.approvals.approve(id, { by, always: true });
    await h.gateway.resume(id);
    const denying = h.other({ policy: () => ({ effect: 'deny', rule: 'no-skills', reason: 'Not\nnow.' }) });
    const denied = await denying.call(call('c2'));
    expect(denied).toMatchObject({ status: 'refused', executed: false, code: 'no-skills' });
    expect(denied.message.split('\n')).toHaveLength(1);
    const observing = h.other({ agent: { id: agentId, level: 'observe' } });
    expect(await observing.call(call('c3'))).toMatchObject({ status: 'refused', code: 'agent-observes' });
    expect((await h.other().call(call('c4'))).status).toBe('completed');
    expect(h.mock.jobs).toBe(2);
  });

  test('C113: a policy that throws, or gives no answer, refuses', async () => {
    const answers: unknown[] = [
      undefined,
      null,
      true,
      'allow',
      {},
      { effect: 'Allow' },
      { effect: 'allow', reason: 5 },
      { effect: 'allow', rule: {} },
      { effect: 'ask', allowAlways: 'no' },
      {
        get effect() {
          throw new Error('down');
        },
      },
    ];
    const policies = answers.map((answer) => (() => answer) as Policy);
    for (const policy of [...policies, () => Promise.reject(new Error('down'))]) {
      const h = await harness({ gateway: { agent: { id: agentId, level: 'auto' }, policy } });
      const outcome = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
      expect(outcome).toMatchObject({ status: 'refused', code: 'policy-failed', executed: false });
      expect(h.mock.jobs).toBe(0);
    }
  });

  test('a policy that hangs refuses after 10 seconds, and holds up no other call for longer', async () => {
    const policy: Policy = ({ run }) => {
      return run.arguments.title === 'hang' ? new Promise<never>(() => {}) : { effect: 'allow' };
    };
    const h = await harness({ gateway: { agent: { id: agentId, level: 'auto' }, policy } });
    const calls = ['hang', 'a'].map((title) => ({ name: h.slugify, arguments: { title } }));
    const begun = h.clock.now();
    const outcomes = await passing(h.clock, h.gateway.callAll(calls));
    expect(outcomes).toMatchObject([
      { status: 'refused', code: 'policy-failed', executed: false },
      { status: 'completed' },
    ]);
    expect(h.clock.now() - begun).toBeLessThan(12_000);
  });

  test('a policy that answers one thing and then another is taken at its first word', async () => {
    let read = 0;
    const answer = {
      get effect() {
        read += 1;
        return read === 1 ? 'ask' : 'allow';
      },
    };
    expect(await rule(someStep(), someContext(), () => answer as PolicyAnswer)).toMatchObject({
      effect: 'ask',
    });
  });

  test('a policy cannot change what it rules on', async () => {
    const policy: Policy = (step) => {
      Object.assign(step.run.arguments, { title: 'changed' });
      return { effect: 'allow' };
    };
    const h = await harness({ gateway: { agent: { id: agentId, level: 'auto' }, policy } });
    const outcome = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    expect(outcome).toMatchObject({ status: 'refused', code: 'policy-failed' });
    expect(h.mock.jobs).toBe(0);
  });
});

describe('heard once', () => {
  test('C25: neither a decision nor a resume, in any process, asks the policy again', async () => {
    let heard = 0;
    const policy: Policy = () => {
      heard += 1;
      if (heard > 1) throw new Error('heard twice');
      return { effect: 'ask' };
    };
    const h = await harness({ gateway: { policy, store: createMemoryStore() } });
    const call = { id: 'c1', name: h.slugify, arguments: { title: 'a' } };
    const id = (await h.gateway.call(call)).step?.id ?? '';
    expect((await h.gateway.call(call)).step?.id).toBe(id);
    await h.other().approvals.approve(id, { by });
    expect((await h.other().resume(id)).status).toBe('completed');
    expect((await h.gateway.call(call)).status).toBe('completed');
    expect([heard, h.mock.jobs]).toEqual([1, 1]);
  });

  test('C67: another agent of the person has policy’s deny, and no grant that was made for the first', async () => {
    const child = 'agt_01JCCCCCCCCCCCCCCCCCCCCCCC';
    const store = createMemoryStore();
    const policy: Policy = ({ run }) => ({ effect: run.arguments.title === 'no' ? 'deny' : 'ask' });
    const h = await harness({ gateway: { store, policy, agent: { id: agentId } } });
    const call = (id: string, title = id) => ({ id, name: h.slugify, arguments: { title } });
    const id = (await h.gateway.call(call('c1'))).step?.id ?? '';
    await h.gateway.approvals.approve(id, { by, always: true });
    await h.gateway.resume(id);
    const sub = h.other({ agent: { id: child, level: 'auto' } });
    expect((await sub.call(call('c2', 'no'))).status).toBe('refused');
    const asked = await sub.call(call('c3'));
    expect(asked.status).toBe('awaiting_approval');
    await expect(sub.approvals.approve(asked.step?.id ?? '', { by: child })).rejects.toMatchObject({
      code: 'decision_not_allowed',
    });
    expect((await h.gateway.call(call('c4'))).status).toBe('completed');
    expect(h.mock.jobs).toBe(2);
  });
});

describe('too many pending', () => {
  const call = (h: { slugify: string }, n: number) => ({
    id: `c${n}`,
    name: h.slugify,
    arguments: { title: `${n}` },
  });

  test('the 21st step that would wait is refused, in whatever way the calls come', async () => {
    const ways = [
      (h: Awaited<ReturnType<typeof harness>>) =>
        h.gateway.callAll(Array.from({ length: 25 }, (_, n) => call(h, n))),
      (h: Awaited<ReturnType<typeof harness>>) =>
        Promise.all(Array.from({ length: 25 }, (_, n) => h.gateway.call(call(h, n)))),
      (h: Awaited<ReturnType<typeof harness>>) =>
        Promise.all(Array.from({ length: 25 }, (_, n) => h.other().call(call(h, n), { turn: `${n}` }))),
    ];
    for (const way of ways) {
      const h = await harness({ gateway: { store: createMemoryStore() } });
      const outcomes = await way(h);
      expect(outcomes.filter(({ status }) => status === 'awaiting_approval')).toHaveLength(20);
      const refused = outcomes.filter(({ status }) => status === 'refused');
      expect(refused.map(({ code }) => code)).toEqual(Array(5).fill('too-many-pending'));
      expect(await h.gateway.approvals.pending()).toHaveLength(20);
      for (const { step } of refused) {
        await expect(h.gateway.approvals.approve(step?.id ?? '', { by })).rejects.toMatchObject({
          code: 'step_already_decided',
        });
      }
      expect(h.mock.jobs).toBe(0);
    }
  });

  test('a decision, an expiry and a grant make room; another agent has its own', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, maxPending: 1 } });
    const first = await h.gateway.call(call(h, 1));
    expect((await h.gateway.call(call(h, 2))).status).toBe('refused');
    expect((await h.other({ agent: { id: agentId } }).call(call(h, 3))).status).toBe('awaiting_approval');
    await h.gateway.approvals.approve(first.step?.id ?? '', { by, always: true });
    await h.gateway.resume(first.step?.id ?? '');
    const fetching = { id: 'c4', name: h.fetchTitle, arguments: { url: 'https://a.example' } };
    expect((await h.gateway.call(fetching)).status).toBe('awaiting_approval');
    expect((await h.gateway.call(call(h, 5))).status).toBe('completed');
    await h.clock.advance(900_000);
    expect((await h.gateway.call({ ...fetching, id: 'c6' })).status).toBe('awaiting_approval');
  });
});
