import { expect, test } from 'vitest';
import type { Policy } from '../../src/approval/policy.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import { agentId, ann, harness, passing } from '../support/harness.ts';

/** A store that writes the first new step, and whose answer to that is lost. */
function losingTheFirst(): StorePort {
  const memory = createMemoryStore();
  let isLost = false;
  return {
    ...memory,
    steps: {
      ...memory.steps,
      async create(step) {
        const answer = await memory.steps.create(step);
        if (isLost) return answer;
        isLost = true;
        throw new Error('The connection to the store broke.');
      },
    },
  };
}

test('C100: a step that was stored and not answered goes on: nobody is told that nothing was recorded', async () => {
  const h = await harness({
    gateway: {
      store: losingTheFirst(),
      agent: { id: agentId, level: 'auto' },
      policy: () => ({ effect: 'allow' }),
    },
  });
  const call = { id: 'c1', name: h.slugify, arguments: { title: 'a' } };
  const outcome = await passing(h.clock, h.gateway.call(call));
  expect(outcome).toMatchObject({ status: 'completed', executed: true });
  expect(await h.gateway.resumeAll()).toEqual([]);
  expect(h.mock.jobs).toBe(1);
});

test('C60: a grant that was stored and not answered is told as what it is', async () => {
  const store = createMemoryStore();
  const put: StorePort['grants']['put'] = async (grant) => {
    await store.grants.put(grant);
    throw new Error('The connection to the store broke.');
  };
  const h = await harness({ gateway: { store: { ...store, grants: { ...store.grants, put } } } });
  const call = (id: string) => h.gateway.call({ id, name: h.slugify, arguments: { title: id } });
  const { step } = await call('c1');
  const { grant } = await h.gateway.approvals.approve(step?.id ?? '', { by: ann.subject, always: true });
  expect(await h.grants.list()).toEqual([grant]);
  expect(h.told).not.toContain('grant-failed');
  expect((await passing(h.clock, call('c2'))).status).toBe('completed');
});

test('C100: an approval that was stored and not answered is one: its "always" is made, and told', async () => {
  const store = createMemoryStore();
  const update: StorePort['steps']['update'] = async (step) => {
    await store.steps.update(step);
    throw new Error('The connection to the store broke.');
  };
  const h = await harness({ gateway: { store } });
  const { step } = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
  const losing = h.other({ store: { ...store, steps: { ...store.steps, update } } });
  const decided = await losing.approvals.approve(step?.id ?? '', { by: ann.subject, always: true });
  expect(decided).toMatchObject({ step: { state: 'approved' }, grant: { step: step?.id } });
  expect((await passing(h.clock, losing.resume(step?.id ?? ''))).status).toBe('completed');
  expect(h.mock.jobs).toBe(1);
});

test('C100: a step of which the store cannot say whether it has it may run, and is told so', async () => {
  const store = createMemoryStore();
  const down = async (): Promise<never> => {
    throw new Error('The connection to the store broke.');
  };
  const create: StorePort['steps']['create'] = async (step) => {
    await store.steps.create(step);
    return down();
  };
  const policy: Policy = () => ({ effect: 'allow' });
  const h = await harness({ gateway: { store, agent: { id: agentId, level: 'auto' }, policy } });
  const steps = { ...store.steps, create, get: down };
  const call = { id: 'c1', name: h.slugify, arguments: { title: 'a' } };
  const outcome = await h.other({ store: { ...store, steps } }).call(call);
  expect(outcome).toMatchObject({ status: 'outcome_unknown', executed: 'unknown' });
  const [resumed] = await passing(h.clock, h.gateway.resumeAll());
  expect(resumed).toMatchObject({ status: 'completed', step: { id: outcome.step?.id } });
});

test('C18: a store that lets nobody win ends in store_conflict, and holds up nobody', async () => {
  const store = createMemoryStore();
  const h = await harness({ gateway: { store } });
  const { step } = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
  const id = step?.id ?? '';
  await h.gateway.approvals.approve(id, { by: ann.subject });
  const steps = { ...store.steps, update: async () => false };
  const losing = h.other({ store: { ...store, steps } });
  await expect(losing.approvals.cancel(id)).rejects.toMatchObject({ code: 'store_conflict' });
  expect(await losing.resume(id)).toMatchObject({
    status: 'run_error',
    executed: false,
    code: 'port-failed',
  });
  expect(h.mock.jobs).toBe(0);
});

test.each(['approve', 'deny'] as const)(
  'C20: of two alike at the same moment (%s) one is applied, also where the store fails the other',
  async (what) => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const { step } = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    const id = step?.id ?? '';
    const by = ann.subject;
    // It is in the middle of its own decision when the other one is stored, and its own is not.
    const append: StorePort['audit']['append'] = async (...given) => {
      const answer = await store.audit.append(...given);
      await h.gateway.approvals[what](id, { by }).catch(() => {});
      return answer;
    };
    const update = () => Promise.reject(new Error('The connection to the store broke.'));
    const failing = { ...store, steps: { ...store.steps, update }, audit: { ...store.audit, append } };
    await expect(h.other({ store: failing }).approvals[what](id, { by })).rejects.toThrow('broke');
    expect(h.told.filter((name) => name === 'step-decided')).toHaveLength(1);
    const record = await store.steps.get(id);
    const entry = what === 'approve' ? record?.decision?.entry : record?.end?.entry;
    const [, lost, applied] = await store.audit.list(ann);
    expect([lost?.event, applied?.event, applied?.id]).toEqual([what, what, entry]);
  },
);
