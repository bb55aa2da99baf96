import { expect, test } from 'vitest';
import type { RunService } from '../../src/run/service.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import { ann, approve, type Harness, harness, passing, submitBodies, until } from '../support/harness.ts';

const args = { title: 'a' };
const link = { node: 'link-1', trust: 'user-owned' } as const;
const pool = { node: 'node-pool-1', trust: 'first-party' } as const;

/** Knows the own Link also while the mock has it down: it is listed, and takes nothing. */
function listing(run: RunService): RunService {
  const nodes: RunService['nodes'] = async () => [
    { node: link.node, tier: 'own', nets: ['deny'] },
    { node: pool.node, tier: 'pool', nets: ['deny'] },
  ];
  return { ...run, nodes };
}

/** The steps of a process that dies right after it has stored a step whose last attempt is withdrawing. */
function dying(memory: MemoryStore, died: () => void): StorePort['steps'] {
  return {
    ...memory.steps,
    async update(step) {
      const stored = await memory.steps.update(step);
      if (step.attempts.at(-1)?.state !== 'withdrawing') return stored;
      died();
      return new Promise<never>(() => {});
    },
  };
}

async function startedJobs(h: Harness, store: StorePort, id: string): Promise<number> {
  const attempts = (await store.steps.get(id))?.attempts ?? [];
  const jobs = await Promise.all(attempts.map(({ job }) => h.run.get(job ?? '', { person: ann })));
  return jobs.filter(({ timings }) => timings.started_at !== null).length;
}

test.each([
  ['before the cancel, and the own Link begins the job', { cancelled: false, comesUp: true }],
  ['before the cancel, and the own Link stays away', { cancelled: false, comesUp: false }],
  ['after the cancel, and the own Link is there again', { cancelled: true, comesUp: true }],
])('a crash between the withdrawal from the own Link and the pool, %s: one job runs', async (_, how) => {
  const h = await harness({ mock: { nodes: [link, pool] }, ownNodes: [link.node] });
  const memory = createMemoryStore();
  const run = listing(h.run);
  let atTheCrash: string | undefined;
  const steps = dying(memory, () => {
    atTheCrash ??= memory.snapshot();
  });
  h.mock.setNodes([{ ...link, health: 'down' }, pool]);
  h.mock.next({ result: 'first', runMs: 3000 });
  h.mock.next({ result: 'second', runMs: 3000 });
  void h
    .other({ store: { ...memory, steps }, approver: approve, run })
    .call({ id: 'c1', name: h.slugify, arguments: args });
  await until(async () => {
    await h.clock.advance(250);
    return atTheCrash;
  });
  const store = createMemoryStore(atTheCrash);
  const [step] = await store.steps.open(ann);
  const job = step?.attempts[0]?.job ?? '';
  expect(step?.attempts).toMatchObject([{ tier: 'own', state: 'withdrawing' }]);
  if (how.cancelled) await h.run.cancel(job, { person: ann });
  if (how.comesUp) h.mock.setNodes([link, pool]);

  const outcome = await passing(h.clock, h.other({ store, run }).resume(step?.id ?? ''));
  await h.clock.advance(10_000);
  expect(outcome).toMatchObject({ status: 'completed', executed: true });
  expect(await startedJobs(h, store, step?.id ?? '')).toBe(1);
  expect(new Set(submitBodies(h).map(({ idempotency_key }) => idempotency_key)).size).toBe(h.mock.jobs);
});

/** A step that was leased for 10 s, and of which nothing was sent: the claimer lives, or it died. */
async function claimed(h: Harness, store: MemoryStore, lives: boolean): Promise<[string, MemoryStore]> {
  const { step } = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: args });
  const id = step?.id ?? '';
  await h.gateway.approvals.approve(id, { by: ann.subject });
  const stuck = { ...h.run, submit: () => new Promise<never>(() => {}) };
  void h.other({ run: stuck }).resume(id);
  await until(async () => (await store.steps.get(id))?.attempts.length === 1);
  return [id, lives ? store : createMemoryStore(store.snapshot())];
}

test.each([true, false])(
  'C100: a claimed step is taken over after its lease, and not before (it lives: %s)',
  async (lives) => {
    const made = createMemoryStore();
    const h = await harness({ gateway: { store: made, leaseMs: 10_000 } });
    const [id, store] = await claimed(h, made, lives);
    const other = h.other({ store }).resume(id);
    await h.clock.advance(9500);
    expect(submitBodies(h)).toHaveLength(0);
    expect((await passing(h.clock, other)).status).toBe('completed');
    expect(h.mock.jobs).toBe(1);
  },
);

test('C100: a clock that is set back makes no lease longer', async () => {
  const made = createMemoryStore();
  const h = await harness({ gateway: { store: made, leaseMs: 10_000 } });
  const [id, store] = await claimed(h, made, false);
  const clock = { ...h.clock, now: () => h.clock.now() - 86_400_000 };
  const other = h.other({ store, clock }).resume(id);
  for (let n = 0; n < 38; n += 1) await h.clock.advance(250);
  expect(submitBodies(h)).toHaveLength(0);
  expect((await passing(h.clock, other)).status).toBe('completed');
  expect(h.mock.jobs).toBe(1);
});
