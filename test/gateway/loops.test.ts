import { describe, expect, test } from 'vitest';
import type { Policy } from '../../src/approval/policy.ts';
import { modelText } from '../../src/gateway/model-text.ts';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { agentId, ann, approve, ben, type Harness, harness, passing, until } from '../support/harness.ts';

const by = ann.subject;
const callOf = (h: Harness, id: string) => ({ id, name: h.slugify, arguments: { title: id } });
const never = (): Promise<never> => new Promise(() => {});

describe('C34: the person speaks instead of deciding', () => {
  test('each pending step ends as superseded, yields a result, and can no longer be approved', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const waiting = await h.gateway.callAll([callOf(h, 'c1'), callOf(h, 'c2')]);
    await h.gateway.newTurn({ supersede: true });
    expect(await h.gateway.approvals.pending()).toEqual([]);
    for (const { step } of waiting) {
      const id = step?.id ?? '';
      await expect(h.gateway.approvals.approve(id, { by })).rejects.toMatchObject({
        code: 'step_already_decided',
        state: 'superseded',
      });
      const outcome = await h.gateway.resume(id);
      expect(outcome).toMatchObject({ status: 'superseded', executed: false, step: { state: 'superseded' } });
      expect(modelText(outcome)).toMatch(/^superseded: .*Nothing ran\.\nNo result exists\.$/);
    }
    expect(h.told.filter((name) => name === 'step-finished')).toHaveLength(2);
    const entries = await store.audit.list(ann);
    expect(entries.filter(({ status }) => status === 'superseded').map(({ event }) => event)).toEqual([
      'cancel',
      'cancel',
    ]);
    expect(await h.grants.list()).toEqual([]);
    expect(h.mock.jobs).toBe(0);
  });

  test('a call that waits for its approver ends at once', async () => {
    let asked = false;
    let signalled = false;
    const h = await harness({
      gateway: {
        approver: (_request, { signal }) => {
          asked = true;
          signal.addEventListener('abort', () => {
            signalled = true;
          });
          return never();
        },
      },
    });
    const call = h.gateway.call(callOf(h, 'c1'));
    await until(() => asked);
    await h.gateway.newTurn({ supersede: true });
    expect((await call).status).toBe('superseded');
    expect(signalled).toBe(true);
  });

  test('without the option, and for what is not pending, it stays as it is', async () => {
    const h = await harness();
    const [one, two, three] = await h.gateway.callAll([callOf(h, 'c1'), callOf(h, 'c2'), callOf(h, 'c3')]);
    await h.gateway.approvals.approve(one?.step?.id ?? '', { by });
    await h.gateway.approvals.deny(two?.step?.id ?? '', { by });
    await h.gateway.newTurn();
    await h.gateway.newTurn({});
    await h.gateway.newTurn({ supersede: false });
    expect((await h.gateway.approvals.pending()).map(({ id }) => id)).toEqual([three?.step?.id]);
    await h.gateway.newTurn({ supersede: true });
    expect((await h.gateway.resume(one?.step?.id ?? '')).status).toBe('completed');
    expect((await h.gateway.resume(two?.step?.id ?? '')).status).toBe('denied');
    expect((await h.gateway.resume(three?.step?.id ?? '')).status).toBe('superseded');
  });

  test('call ids start afresh at once, also with it', async () => {
    const h = await harness({ gateway: { approver: approve } });
    await h.gateway.call(callOf(h, 'c1'));
    const spoken = h.gateway.newTurn({ supersede: true });
    await h.gateway.call(callOf(h, 'c1'));
    await spoken;
    expect(h.mock.jobs).toBe(2);
  });

  test('another session, agent or person is not touched', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, session: 's' } });
    const others: Partial<GatewayOptions>[] = [
      { session: 't' },
      { agent: { id: agentId } },
      { person: ben },
      { person: { ...ann, project: ben.project } },
    ];
    const waiting = await Promise.all(others.map((change) => h.other(change).call(callOf(h, 'c1'))));
    await h.gateway.newTurn({ supersede: true });
    for (const { step } of waiting) expect((await store.steps.get(step?.id ?? ''))?.state).toBe('pending');
  });

  test('a step that has expired is told as that', async () => {
    const h = await harness();
    const { step } = await h.gateway.call(callOf(h, 'c1'));
    await h.clock.advance(900_000);
    await h.gateway.newTurn({ supersede: true });
    expect((await h.gateway.resume(step?.id ?? '')).status).toBe('expired');
  });

  test('C21: of an approval and a new turn at once one wins', async () => {
    for (const first of [true, false]) {
      const store = createMemoryStore();
      const h = await harness({ gateway: { store } });
      const { step } = await h.gateway.call(callOf(h, 'c1'));
      const id = step?.id ?? '';
      const approves = () => h.other().approvals.approve(id, { by });
      const speaks = () => h.gateway.newTurn({ supersede: true });
      const [one, two] = first ? [approves(), speaks()] : [speaks(), approves()];
      const [decided] = await Promise.allSettled(first ? [one, two] : [two, one]);
      const { status } = await h.gateway.resume(id);
      expect(status).toBe(decided?.status === 'fulfilled' ? 'completed' : 'superseded');
      expect(h.mock.jobs).toBe(status === 'completed' ? 1 : 0);
    }
  });

  test('a closed gateway says so', async () => {
    const h = await harness();
    await h.gateway.close();
    await h.gateway.newTurn();
    await expect(h.gateway.newTurn({ supersede: true })).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('C44: there is nobody to ask, ever', () => {
  const none = { approver: 'none' } as const;

  test('what would be asked ends as no_approver at once, distinct from denied, and nothing stays pending', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { ...none, store } });
    // More than may be pending at a time.
    const outcomes = await h.gateway.callAll(Array.from({ length: 25 }, (_, n) => callOf(h, `c${n}`)));
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'no_approver', executed: false, step: { state: 'cancelled' } });
    }
    expect(modelText(outcomes[0] as never)).toMatch(
      /^no_approver: .*nobody to ask\. Nothing ran\.\nNo result exists\.$/,
    );
    expect(await store.steps.open(ann)).toEqual([]);
    expect(await h.gateway.approvals.pending()).toEqual([]);
    expect(await h.gateway.call(callOf(h, 'c0'))).toEqual(outcomes[0]);
    expect(h.mock.jobs).toBe(0);
  });

  test('what policy or a grant allows runs all the same', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, agent: { id: agentId } } });
    await h.other({ approver: async () => ({ decision: 'approve', always: true }) }).call(callOf(h, 'c1'));
    expect((await h.other(none).call(callOf(h, 'c2'))).status).toBe('completed');
    const auto = {
      ...none,
      agent: { id: agentId, level: 'auto' },
      policy: () => ({ effect: 'allow' as const }),
    } as const;
    expect((await h.other({ ...auto, store: createMemoryStore() }).call(callOf(h, 'c3'))).status).toBe(
      'completed',
    );
  });

  test('C63: a step that would be asked for again ends, also between two tiers', async () => {
    const store = createMemoryStore();
    const nodes = [
      { node: 'mine', trust: 'user-owned' },
      { node: 'pool', trust: 'first-party' },
    ] as const;
    const h = await harness({ gateway: { store }, mock: { nodes }, ownNodes: ['mine'] });
    await h.other({ approver: async () => ({ decision: 'approve', always: true }) }).call(callOf(h, 'c1'));
    const [grant] = await h.grants.list();
    h.mock.next({ unplaceable: true });
    const call = h.other(none).call(callOf(h, 'c2'));
    await until(() => h.mock.jobs === 2);
    await h.grants.revoke(grant?.id ?? '');
    expect(await passing(h.clock, call)).toMatchObject({ status: 'no_approver', executed: false });
    expect(await store.steps.open(ann)).toEqual([]);
  });

  test('a step that another gateway asks for is left to it', async () => {
    const h = await harness({ gateway: { store: createMemoryStore() } });
    const { step } = await h.gateway.call(callOf(h, 'c1'));
    const id = step?.id ?? '';
    expect(await h.other(none).resume(id)).toMatchObject({ status: 'awaiting_approval', step: { id } });
    await h.gateway.approvals.approve(id, { by });
    expect((await passing(h.clock, h.gateway.resume(id))).status).toBe('completed');
  });

  test.each([
    ['a word', 'nobody'],
    ['an object', {}],
    ['null', null],
  ])('an approver that is %s is option_invalid', async (_, approver) => {
    const h = await harness();
    expect(() => h.other({ approver: approver as never })).toThrow(
      expect.objectContaining({ code: 'option_invalid', message: expect.stringMatching('^approver: ') }),
    );
  });
});

test('C63: a step that waits again between two tiers can be cancelled, denied, superseded, and expires', async () => {
  const nodes = [
    { node: 'mine', trust: 'user-owned' },
    { node: 'pool', trust: 'first-party' },
  ] as const;
  const ends: Record<string, (h: Harness, id: string) => Promise<unknown>> = {
    cancelled: (h, id) => h.gateway.approvals.cancel(id),
    denied: (h, id) => h.gateway.approvals.deny(id, { by }),
    superseded: (h) => h.gateway.newTurn({ supersede: true }),
    expired: (h) => h.clock.advance(900_000),
  };
  for (const [status, end] of Object.entries(ends)) {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, session: 's' }, mock: { nodes }, ownNodes: ['mine'] });
    await h.other({ approver: async () => ({ decision: 'approve', always: true }) }).call(callOf(h, 'c1'));
    const [grant] = await h.grants.list();
    h.mock.next({ unplaceable: true });
    const call = h.gateway.call(callOf(h, 'c2'));
    await until(() => h.mock.jobs === 2);
    await h.grants.revoke(grant?.id ?? '');
    const { step } = await passing(h.clock, call);
    expect((await store.steps.get(step?.id ?? ''))?.attempts).toMatchObject([{ state: 'unplaced' }]);
    await end(h, step?.id ?? '');
    expect(await h.gateway.resume(step?.id ?? '')).toMatchObject({ status, executed: false });
  }
});

test('count.* holds for calls at once: each counts those before it', async () => {
  const policy: Policy = (_, { count }) => ({ effect: count.turn < 3 ? 'allow' : 'ask' });
  const h = await harness({ gateway: { agent: { id: agentId, level: 'auto' }, policy } });
  const calls = Array.from({ length: 8 }, (_, n) => h.gateway.call(callOf(h, `c${n}`)));
  const outcomes = await passing(h.clock, Promise.all(calls));
  const counted = (status: string) => outcomes.filter((one) => one.status === status).length;
  expect([counted('completed'), counted('awaiting_approval'), h.mock.jobs]).toEqual([3, 5, 3]);
});

test('maxPending holds also where the clock goes back', async () => {
  const h = await harness({ gateway: { maxPending: 3 } });
  let back = 0;
  const clock = { ...h.clock, now: () => h.clock.now() - back };
  const gateway = h.other({ clock });
  const statuses: string[] = [];
  for (let n = 0; n < 6; n += 1) {
    statuses.push((await gateway.call(callOf(h, `c${n}`))).status);
    back += 1000;
  }
  expect(statuses).toEqual([...Array(3).fill('awaiting_approval'), ...Array(3).fill('refused')]);
  expect(await gateway.approvals.pending()).toHaveLength(3);
});

test('a `narrow` that throws ends its own call alone', async () => {
  const narrow: GatewayOptions['narrow'] = ({ tool }) => {
    if (tool === 'fetch_title') throw new TypeError('the map has no such key: secret');
    return undefined;
  };
  const h = await harness({ gateway: { narrow, approver: approve } });
  const outcomes = await passing(
    h.clock,
    h.gateway.callAll([
      { id: 'c1', name: h.fetchTitle, arguments: { url: 'https://a.example/' } },
      callOf(h, 'c2'),
    ]),
  );
  expect(outcomes).toMatchObject([
    { status: 'refused', code: 'narrow-failed', executed: false },
    { status: 'completed' },
  ]);
  expect(JSON.stringify(outcomes)).not.toContain('secret');
  expect(h.told).toContain('fault');
});
