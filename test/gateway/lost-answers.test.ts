import { expect, test } from 'vitest';
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
