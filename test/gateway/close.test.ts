import { describe, expect, test } from 'vitest';
import type { RunService } from '../../src/run/service.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory.ts';
import { ann, approve, type Harness, harness, passing, until } from '../support/harness.ts';

const by = ann.subject;
const never = () => new Promise<never>(() => {});

const cancels = (h: Harness) => h.mock.requests.filter(({ path }) => path.endsWith('/cancel')).length;
const oneCall = (h: Harness) => ({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });

/** The only step in the store. */
const theStep = async (store: MemoryStore) => (await store.steps.open(ann))[0];

describe('close', () => {
  test('while a person is asked: the step goes on waiting, and another gateway runs it', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: never } });
    const calling = h.gateway.call(oneCall(h));
    await h.clock.whenSleeping();
    await h.gateway.close();
    const outcome = await calling;
    expect(outcome).toMatchObject({ status: 'awaiting_approval', executed: false });
    const other = h.other();
    await other.approvals.approve(outcome.step?.id ?? '', { by });
    expect((await passing(h.clock, other.resume(outcome.step?.id ?? ''))).status).toBe('completed');
    expect(h.mock.jobs).toBe(1);
  });

  test('while a job is followed: it is not cancelled, and another gateway follows it', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve } });
    h.mock.next({ result: 'once', runMs: 5000 });
    const calling = h.gateway.call(oneCall(h));
    await until(async () => (await theStep(store))?.attempts[0]?.job);
    await h.gateway.close();
    expect(await calling).toMatchObject({
      status: 'outcome_unknown',
      executed: 'unknown',
      code: 'closed',
    });
    const [outcome] = await passing(h.clock, h.other().resumeAll());
    expect(outcome?.status === 'completed' && outcome.value.reveal()).toBe('once');
    expect([h.mock.jobs, h.mock.submits, cancels(h)]).toEqual([1, 1, 0]);
  });

  test('nothing is done through a closed gateway', async () => {
    const h = await harness();
    const waiting = await h.gateway.call(oneCall(h));
    const id = waiting.step?.id ?? '';
    await h.gateway.close();
    await h.gateway.close();
    const { gateway } = h;
    const attempts = [
      () => gateway.call(oneCall(h)),
      () => gateway.callAll([]),
      () => gateway.resume(id),
      () => gateway.resumeAll(),
      () => gateway.approvals.pending(),
      () => gateway.approvals.approve(id, { by }),
      () => gateway.approvals.deny(id, { by }),
      () => gateway.approvals.cancel(id),
      () => gateway.grants.list(),
      () => gateway.grants.revoke(id),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ code: 'closed' });
    expect(h.mock.submits).toBe(0);
  });

  test('while calls begin leaves nothing running', async () => {
    const store = createMemoryStore();
    const agent = { id: 'agt_01JAB2C3D4E5F6G7H8J9K0MNPQ', level: 'auto' } as const;
    let open: (() => void) | undefined;
    const policy = () =>
      new Promise<{ effect: 'allow' }>((resolve) => {
        open = () => resolve({ effect: 'allow' });
      });
    const h = await harness({ gateway: { store, agent, policy } });
    const run: RunService = {
      ...h.run,
      nodes: ({ person }) => h.run.nodes({ person }),
      submit: (request, { person }) => h.run.submit(request, { person }),
    };
    // Not even over a Run that heeds no signal.
    const gateway = h.other({ run });
    const calling = gateway.call(oneCall(h));
    await until(() => open);
    await gateway.close();
    open?.();
    expect((await calling).status).toBe('outcome_unknown');
    await h.clock.advance(60_000);
    expect(h.mock.submits).toBe(0);
    expect((await passing(h.clock, h.other().resumeAll())).map(({ status }) => status)).toEqual([
      'completed',
    ]);
  });
});
