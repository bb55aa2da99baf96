import { describe, expect, test } from 'vitest';
import type { Decision } from '../../src/approval/decision.ts';
import type { SkillGateway } from '../../src/gateway/gateway.ts';
import type { RunService } from '../../src/run/service.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import { ann, approve, type Harness, harness, passing, until } from '../support/harness.ts';

const by = ann.subject;
// The clock stands still wherever a test does not say otherwise: what settles then has waited for nothing.
const never = () => new Promise<never>(() => {});

const cancels = (h: Harness) => h.mock.requests.filter(({ path }) => path.endsWith('/cancel')).length;
const oneCall = (h: Harness) => ({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });

/** The only step in the store. */
const theStep = async (store: MemoryStore) => (await store.steps.open(ann))[0];

/** A call whose signal can be fired. */
function abortable(gateway: SkillGateway, call: Parameters<SkillGateway['call']>[0]) {
  const controller = new AbortController();
  return { outcome: gateway.call(call, { signal: controller.signal }), abort: () => controller.abort() };
}

describe('C55: an abort', () => {
  test('ends the call at once when Run never answers, asks once for the job’s end and keeps its id', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve } });
    const deaf: RunService = { ...h.run, follow: never, get: never };
    const { outcome, abort } = abortable(h.other({ run: deaf }), oneCall(h));
    await until(async () => (await theStep(store))?.attempts[0]?.job);
    abort();
    const job = (await theStep(store))?.attempts[0]?.job;
    expect(await outcome).toMatchObject({
      status: 'cancelled',
      executed: 'unknown',
      job: { id: job },
    });
    await until(() => cancels(h) > 0);
    await h.clock.advance(60_000);
    expect([cancels(h), h.mock.submits]).toEqual([1, 1]);
    expect(await theStep(store)).toMatchObject({ attempts: [{ job }] });
  });

  test('before the call records nothing that runs, and asks nobody', async () => {
    let asked = 0;
    const approver = async (): Promise<Decision> => {
      asked += 1;
      return approve();
    };
    for (const policy of [undefined, () => ({ effect: 'allow' }) as const]) {
      const agent = { id: 'agt_01JAB2C3D4E5F6G7H8J9K0MNPQ', level: 'auto' } as const;
      const h = await harness({ gateway: { approver, agent, ...(policy && { policy }) } });
      const outcome = await h.gateway.call(oneCall(h), { signal: AbortSignal.abort() });
      expect(outcome).toMatchObject({ status: 'cancelled', executed: false, step: { state: 'cancelled' } });
      await h.clock.advance(60_000);
      expect([asked, h.mock.submits]).toEqual([0, 0]);
    }
  });

  test('before the decision cancels the step, and a late decision decides nothing', async () => {
    let decide: (decision: Decision) => void = () => {};
    let seen: AbortSignal | undefined;
    const h = await harness({
      gateway: {
        approver: (_, { signal }) => {
          seen = signal;
          return new Promise((resolve) => {
            decide = resolve;
          });
        },
      },
    });
    const { outcome, abort } = abortable(h.gateway, oneCall(h));
    await until(() => seen);
    abort();
    const cancelled = await outcome;
    expect(cancelled).toMatchObject({ status: 'cancelled', executed: false, step: { state: 'cancelled' } });
    expect(seen?.aborted).toBe(true);
    decide({ decision: 'approve', always: true });
    await h.clock.advance(60_000);
    await expect(h.gateway.approvals.approve(cancelled.step?.id ?? '', { by })).rejects.toMatchObject({
      code: 'step_already_decided',
    });
    expect(h.mock.submits).toBe(0);
    expect(await h.grants.list()).toEqual([]);
  });

  test.each(['approved', 'submitting'] as const)(
    'while it is %s and not yet sent: nothing ran, and nothing will',
    async (state) => {
      const memory = createMemoryStore();
      const controller = new AbortController();
      const steps: StorePort['steps'] = {
        ...memory.steps,
        async update(step) {
          const stored = await memory.steps.update(step);
          if (step.state === state) controller.abort();
          return stored;
        },
      };
      const h = await harness({ gateway: { store: { ...memory, steps }, approver: approve } });
      const outcome = await h.gateway.call(oneCall(h), { signal: controller.signal });
      expect(outcome).toMatchObject({ status: 'cancelled', executed: false });
      await h.clock.advance(60_000);
      expect(await h.gateway.resumeAll()).toEqual([]);
      expect(h.mock.submits).toBe(0);
    },
  );

  test('while the nodes are looked up, for ever: nothing ran, and nothing will', async () => {
    const h = await harness();
    let looking = 0;
    const run: RunService = {
      ...h.run,
      nodes: () => {
        looking += 1;
        return looking === 1 ? h.run.nodes({ person: ann }) : never();
      },
    };
    const { outcome, abort } = abortable(h.other({ run, approver: approve }), oneCall(h));
    await until(() => looking > 1);
    abort();
    expect(await outcome).toMatchObject({ status: 'cancelled', executed: false });
    expect(h.mock.submits).toBe(0);
  });

  test('while the submit is on its way: the job is asked to end once, as soon as it is known', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve } });
    h.mock.next({ hang: 'until-cancel' });
    h.mock.fault({ on: 'submit', kind: 'slow', ms: 5000 });
    const { outcome, abort } = abortable(h.gateway, oneCall(h));
    await until(() => h.mock.requests.some(({ path }) => path === '/api/v1/jobs'));
    abort();
    expect(await outcome).toMatchObject({ status: 'cancelled', executed: 'unknown' });
    expect([h.mock.jobs, cancels(h)]).toEqual([0, 0]);
    const id = (await theStep(store))?.id ?? '';
    while (!(await store.steps.get(id))?.end) await h.clock.advance(250);
    expect(await store.steps.get(id)).toMatchObject({
      state: 'ended',
      end: { status: 'cancelled', executed: true },
      attempts: [{ job: expect.stringMatching(/^job_/) }],
    });
    expect([h.mock.jobs, h.mock.submits, cancels(h)]).toEqual([1, 1, 1]);
    expect(await h.gateway.resume(id)).toMatchObject({ status: 'cancelled', executed: true });
  });

  test('after a submit that is never answered: it is not sent again, here or in another process', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve } });
    h.mock.fault({ on: 'submit', kind: 'drop-before', times: 4 });
    const { outcome, abort } = abortable(h.gateway, oneCall(h));
    await until(() => h.mock.requests.some(({ path }) => path === '/api/v1/jobs'));
    abort();
    const cancelled = await outcome;
    expect(cancelled).toMatchObject({ status: 'cancelled', executed: 'unknown' });
    await h.clock.advance(60_000);
    const other = h.other({ store: createMemoryStore(store.snapshot()) });
    const id = cancelled.step?.id ?? '';
    for (const gateway of [other, h.gateway]) {
      expect(await passing(h.clock, gateway.resume(id))).toMatchObject({
        status: 'cancelled',
        executed: 'unknown',
      });
    }
    expect(h.mock.jobs).toBe(0);
  });

  test('of one of two callers of one call ends it for both', async () => {
    const h = await harness({ gateway: { approver: approve } });
    h.mock.next({ hang: 'until-cancel' });
    const one = abortable(h.gateway, oneCall(h));
    const two = h.gateway.call(oneCall(h));
    await until(() => h.told.includes('step-submitted'));
    one.abort();
    expect((await one.outcome).status).toBe('cancelled');
    expect(await passing(h.clock, two)).toMatchObject({ status: 'cancelled', executed: true });
    expect([h.mock.jobs, cancels(h)]).toEqual([1, 1]);
  });

  test('after the end changes nothing', async () => {
    const h = await harness({ gateway: { approver: approve } });
    const { outcome, abort } = abortable(h.gateway, oneCall(h));
    expect((await outcome).status).toBe('completed');
    abort();
    await h.clock.advance(1000);
    expect([cancels(h), h.told.filter((name) => name === 'step-finished').length]).toEqual([0, 1]);
  });

  test('leaves no listener on a signal that outlives its calls', async () => {
    const h = await harness({ gateway: { approver: approve } });
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => {
        listeners += 1;
        add(...args);
      },
      removeEventListener: (...args: Parameters<typeof remove>) => {
        listeners -= 1;
        remove(...args);
      },
    });
    for (const id of ['c1', 'c2', 'c3']) await h.gateway.call({ ...oneCall(h), id }, { signal });
    expect(listeners).toBe(0);
  });

  test('is not taken back when the gateway closes right after it', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve } });
    h.mock.next({ hang: 'until-cancel' });
    h.mock.fault({ on: 'cancel', kind: 'slow', ms: 1000 });
    const { outcome, abort } = abortable(h.gateway, oneCall(h));
    await until(async () => (await theStep(store))?.attempts[0]?.job);
    abort();
    await outcome;
    await h.gateway.close();
    const id = (await theStep(store))?.id ?? '';
    await h.clock.advance(1000);
    expect(await passing(h.clock, h.other().resume(id))).toMatchObject({
      status: 'cancelled',
      executed: true,
    });
  });
});

describe('approvals.cancel', () => {
  test('of a step that waits, or is approved, ends it: nothing ran', async () => {
    for (const approved of [false, true]) {
      const h = await harness();
      const id = (await h.gateway.call(oneCall(h))).step?.id ?? '';
      if (approved) await h.gateway.approvals.approve(id, { by });
      await h.gateway.approvals.cancel(id);
      expect(await h.gateway.resume(id)).toMatchObject({
        status: 'cancelled',
        executed: false,
        step: { state: 'cancelled' },
      });
      await h.gateway.approvals.cancel(id);
      expect([h.mock.submits, cancels(h)]).toEqual([0, 0]);
    }
  });

  test.each([
    ['queued', { unplaceable: true }, false],
    ['running', { hang: 'until-cancel' }, true],
  ] as const)('of a %s job asks once for its end, and the call hears of it', async (_, end, executed) => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve } });
    h.mock.next(end);
    const calling = h.gateway.call(oneCall(h));
    await until(async () => (await theStep(store))?.attempts[0]?.job);
    const id = (await theStep(store))?.id ?? '';
    await Promise.all([h.gateway.approvals.cancel(id), h.gateway.approvals.cancel(id)]);
    expect(await passing(h.clock, calling)).toMatchObject({ status: 'cancelled', executed });
    await h.gateway.approvals.cancel(id);
    expect(cancels(h)).toBe(1);
  });

  test('in another process reaches the job too', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve } });
    h.mock.next({ hang: 'until-cancel' });
    const calling = h.gateway.call(oneCall(h));
    await until(async () => (await theStep(store))?.attempts[0]?.job);
    await h.other().approvals.cancel((await theStep(store))?.id ?? '');
    expect(await passing(h.clock, calling)).toMatchObject({ status: 'cancelled', executed: true });
    expect(h.mock.jobs).toBe(1);
  });

  test('of an ended, unknown or foreign step changes nothing', async () => {
    const h = await harness({ gateway: { approver: approve } });
    const done = await h.gateway.call(oneCall(h));
    await h.gateway.approvals.cancel(done.step?.id ?? '');
    expect((await h.gateway.call(oneCall(h))).status).toBe('completed');
    await expect(h.gateway.approvals.cancel('stp_01JAB2C3D4E5F6G7H8J9K0MNPQ')).rejects.toMatchObject({
      code: 'step_not_found',
    });
    expect(cancels(h)).toBe(0);
  });
});
