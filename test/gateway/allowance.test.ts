import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allowanceKeyOf, usedOf } from '../../src/approval/allowance.ts';
import { modelText } from '../../src/gateway/model-text.ts';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import type { StepRecord } from '../../src/step/record.ts';
import type { AllowanceRecord } from '../../src/store/allowance.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import type { MockEnd } from '../../src/testing/mock-script.ts';
import { agentId, ann, approve, type Harness, harness, passing, until } from '../support/harness.ts';

/** An agent alone, which may run what has no network for 60 seconds a day. A run holds 10. */
const alone: Partial<GatewayOptions> = {
  agent: { id: agentId, level: 'auto', alone: true },
  policy: () => ({ effect: 'allow' }),
  allowance: { seconds: 60, period: 'day' },
};
const callOf = (h: Harness, id: string) => ({ id, name: h.slugify, arguments: { title: id } });

const settled = ({ spent }: { spent: number }) => ({
  key: expect.any(String),
  revision: expect.any(Number),
  spent,
  held: {},
  schema: 1,
});

async function accountOf(
  store: StorePort,
  h: Harness,
  now = h.clock.now(),
): Promise<AllowanceRecord | undefined> {
  return store.allowance.get(allowanceKeyOf({ ...ann, agent: agentId }, 'day', now));
}

describe('an agent alone', () => {
  test('the worst case is held before the submit, and settled to what Run metered', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, ...alone } });
    const seen: unknown[] = [];
    const run: typeof h.run = {
      ...h.run,
      async submit(request, context) {
        seen.push(await accountOf(store, h));
        return h.run.submit(request, context);
      },
    };
    h.mock.next({ result: 1, wallMs: 1234 });
    const outcome = await h.other({ run }).call(callOf(h, 'c1'));
    expect(outcome).toMatchObject({ status: 'completed', job: { seconds: 1.234 } });
    expect(seen).toMatchObject([{ spent: 0, held: { [outcome.step?.id ?? '']: 10 } }]);
    expect(await accountOf(store, h)).toEqual(settled({ spent: 1.234 }));
    expect((await store.steps.get(outcome.step?.id ?? ''))?.hold?.seconds).toBe(10);
  });

  test.each<[string, MockEnd, number]>([
    ['a job that never started', { fail: 'run.job.worker_failed', started: false }, 0],
    ['a job that nobody took', { unplaceable: true }, 0],
    ['a tool that failed', { fail: 'run.job.exit_nonzero', exitCode: 1, wallMs: 2500 }, 2.5],
    ['a limit', { limit: true, wallMs: 10_000 }, 10],
    ['a Run that meters more than it was let', { result: 1, wallMs: 3_600_000 }, 10],
    ['a job that is elsewhere, of which nobody can say', { result: 1, node: 'elsewhere', wallMs: 1 }, 10],
  ])('%s is charged %#', async (_, end, spent) => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, ...alone } });
    h.mock.next(end);
    await passing(h.clock, h.gateway.call(callOf(h, 'c1')));
    expect(await accountOf(store, h)).toEqual(settled({ spent }));
  });

  test('two tiers are one hold, which a gateway without the allowance settles too', async () => {
    const store = createMemoryStore();
    const nodes = [
      { node: 'mine', trust: 'user-owned' },
      { node: 'pool', trust: 'first-party' },
    ] as const;
    const h = await harness({
      gateway: { store, session: 's', ...alone },
      mock: { nodes },
      ownNodes: ['mine'],
    });
    h.mock.next({ unplaceable: true });
    h.mock.next({ result: 1, wallMs: 3000, runMs: 20_000 });
    const call = h.gateway.call(callOf(h, 'c1'));
    void call.catch(() => {});
    await until(async () => {
      await h.clock.advance(250);
      return h.mock.jobs === 2 && (await store.steps.open(ann))[0]?.state === 'running';
    });
    await h.gateway.close();
    const { step } = await call;
    expect((await accountOf(store, h))?.held).toEqual({ [step?.id ?? '']: 10 });
    const other = h.other({ agent: { id: agentId }, allowance: undefined as never });
    const outcome = await passing(h.clock, other.resume(step?.id ?? ''));
    expect(outcome).toMatchObject({ status: 'completed', job: { tier: 'pool' } });
    expect(await accountOf(store, h)).toEqual(settled({ spent: 3 }));
  });

  test('without room it ends, names the ceiling and when it renews, and goes on the next day', async () => {
    const store = createMemoryStore();
    const h = await harness({
      gateway: { store, ...alone },
      mock: { otherwise: () => ({ result: 1, wallMs: 9500 }) },
    });
    for (let n = 0; n < 6; n += 1) await h.gateway.call(callOf(h, `c${n}`));
    const outcome = await h.gateway.call(callOf(h, 'c6'));
    expect(outcome).toMatchObject({ status: 'allowance_exhausted', executed: false, code: 'allowance' });
    expect(outcome.message).toBe(
      "The agent's allowance is 60 seconds per day while it works alone: 57 are used or held, and this run may take 10. It renews at 2026-01-02T00:00:00.000Z. Nothing ran.",
    );
    expect(modelText(outcome)).toMatch(/^allowance_exhausted: .*\nNo result exists\.$/);
    expect((await store.audit.list(ann)).at(-1)).toMatchObject({
      event: 'refuse',
      status: 'allowance_exhausted',
    });
    expect([h.mock.jobs, (await accountOf(store, h))?.spent]).toEqual([6, 57]);
    await h.clock.advance(86_400_000);
    expect((await h.gateway.call(callOf(h, 'c7'))).status).toBe('completed');
    expect(await accountOf(store, h)).toMatchObject({ spent: 9.5 });
  });

  test('a replay of an exhausted call is the same outcome', async () => {
    const h = await harness({ gateway: { ...alone, allowance: { seconds: 9, period: 'hour' } } });
    const [one, two] = [await h.gateway.call(callOf(h, 'c1')), await h.gateway.call(callOf(h, 'c1'))];
    expect(one.status).toBe('allowance_exhausted');
    expect(two).toEqual(one);
    expect(h.mock.jobs).toBe(0);
  });

  test.each<[string, Partial<GatewayOptions>]>([
    ['with a person present', { agent: { id: agentId, level: 'auto' } }],
    ['without an allowance', { allowance: undefined as never }],
  ])('%s nothing is charged', async (_, change) => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, ...alone, ...change } });
    const outcomes = await h.gateway.callAll(Array.from({ length: 9 }, (_one, n) => callOf(h, `c${n}`)));
    expect(outcomes.map(({ status }) => status)).toEqual(Array(9).fill('completed'));
    expect(await accountOf(store, h)).toBeUndefined();
  });

  test('C63: a step that is asked for again gives back what it held', async () => {
    const store = createMemoryStore();
    const asking = {
      agent: { id: agentId, alone: true },
      allowance: { seconds: 10, period: 'day' },
    } as const;
    const h = await harness({ gateway: { store, ...asking } });
    const always = h.other({ approver: async () => ({ decision: 'approve', always: true }) });
    await always.call(callOf(h, 'c1'));
    // Revoked as the worst case of the next one is held.
    const [grant] = await h.grants.list();
    const put: typeof store.allowance.put = async (record) => {
      if (Object.keys(record.held).length > 0) await h.grants.revoke(grant?.id ?? '');
      return store.allowance.put(record);
    };
    const waiting = await h
      .other({ store: { ...store, allowance: { ...store.allowance, put } } })
      .call(callOf(h, 'c2'));
    expect(waiting.status).toBe('awaiting_approval');
    const id = waiting.step?.id ?? '';
    expect((await accountOf(store, h))?.held).toEqual({});
    expect((await h.other({ approver: approve }).call(callOf(h, 'c3'))).status).toBe('completed');
    expect(await store.steps.get(id)).toMatchObject({ state: 'pending', hold: null });
    expect(await accountOf(store, h)).toEqual(settled({ spent: 0 }));
  });

  test('what was decided while it was alone is charged also where another gateway goes on with it', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, ...alone, policy: () => ({ effect: 'allow' }) } });
    const stuck = { ...h.run, nodes: () => new Promise<never>(() => {}) };
    void h.other({ run: stuck }).call(callOf(h, 'c1'));
    await until(async () => (await store.steps.open(ann)).some(({ state }) => state === 'submitting'));
    const [step] = await store.steps.open(ann);
    expect(step).toMatchObject({ facts: { alone: true }, decision: { via: 'policy' } });
    h.mock.next({ result: 1, runMs: 2000 });
    const present = h.other({ agent: { id: agentId, level: 'auto', alone: false } });
    expect((await passing(h.clock, present.resume(step?.id ?? ''))).status).toBe('completed');
    expect(await accountOf(store, h)).toEqual(settled({ spent: 2 }));
  });

  test.each<[string, unknown, string]>([
    ['no agent', { agent: undefined }, 'allowance'],
    ['no seconds', { allowance: { period: 'day' } }, 'allowance.seconds'],
    ['half a second', { allowance: { seconds: 0.5, period: 'day' } }, 'allowance.seconds'],
    ['an unknown period', { allowance: { seconds: 1, period: 'constructor' } }, 'allowance.period'],
    ['no object', { allowance: null }, 'allowance.period'],
    ['alone that is no boolean', { agent: { id: agentId, alone: 'no' } }, 'agent.alone'],
  ])('%s is option_invalid', async (_, change, name) => {
    const h = await harness();
    const make = () => h.other({ ...alone, ...(change as object) });
    expect(make).toThrow(
      expect.objectContaining({ code: 'option_invalid', message: expect.stringMatching(`^${name}: `) }),
    );
  });
});

test('C18: 50 calls at once over 4 processes spend exactly the ceiling', async () => {
  const store = createMemoryStore();
  // Each operation of the store gives way, so that the calls go through one another.
  const slow =
    <Args extends unknown[], T>(work: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      await new Promise((resolve) => setImmediate(resolve));
      return work(...args);
    };
  const { steps, allowance } = store;
  const shared: StorePort = {
    ...store,
    steps: { ...steps, get: slow(steps.get), update: slow(steps.update) },
    allowance: { get: slow(allowance.get), put: slow(allowance.put) },
  };
  let most = 0;
  const h = await harness({
    gateway: { store: shared, ...alone, allowance: { seconds: 250, period: 'day' }, session: 's' },
    mock: { otherwise: () => ({ result: 1, wallMs: 10_000 }) },
  });
  const gateways = [h.gateway, h.other(), h.other(), h.other()];
  for (const gateway of gateways) {
    gateway.on('step-submitted', async () => {
      most = Math.max(most, usedOf(await accountOf(store, h)));
    });
  }
  const calls = Array.from({ length: 50 }, (_, n) => gateways[n % 4]?.call(callOf(h, `c${n}`)));
  const outcomes = await passing(h.clock, Promise.all(calls));
  const count = (status: string) => outcomes.filter((one) => one?.status === status).length;
  expect([count('completed'), count('allowance_exhausted'), h.mock.jobs]).toEqual([25, 25, 25]);
  expect(await accountOf(store, h)).toEqual(settled({ spent: 250 }));
  expect(most).toBe(250);
});

/** A store whose process dies at its `at`th operation: what it is told after that is never done. */
function dying(store: MemoryStore, at: number): { store: StorePort; dead: () => boolean } {
  let count = 0;
  const guard = <Part extends object>(part: Part): Part =>
    Object.fromEntries(
      Object.entries(part).map(([name, work]) => [
        name,
        async (...args: unknown[]) => {
          count += 1;
          if (count > at) return new Promise(() => {});
          return (work as (...all: unknown[]) => unknown)(...args);
        },
      ]),
    ) as Part;
  const { steps, grants, audit, allowance } = store;
  const guarded = {
    steps: guard(steps),
    grants: guard(grants),
    audit: guard(audit),
    allowance: guard(allowance),
  };
  return { store: { durable: true, ...guarded }, dead: () => count > at };
}

const stepsIn = (store: MemoryStore): StepRecord[] => JSON.parse(store.snapshot()).steps;

describe('C100: a process that dies at any point of a run', () => {
  test.each<[string, MockEnd, number]>([
    ['completes', { result: 1, wallMs: 2000 }, 2],
    ['never starts', { fail: 'run.job.worker_failed', started: false }, 0],
    ['is elsewhere', { result: 1, node: 'elsewhere', wallMs: 1 }, 10],
  ])('leaves no hold and counts none twice, where the job %s', async (_, end, spent) => {
    let points = 0;
    for (let at = 0; ; at += 1) {
      const store = createMemoryStore();
      const h = await harness({ gateway: alone, mock: { otherwise: () => end } });
      const first = dying(store, at);
      const call = h.other({ store: first.store, session: 's' }).call(callOf(h, 'c1'));
      let over = false;
      void call.then(() => {
        over = true;
      });
      await until(() => over || first.dead());
      points = at;
      const session = { store: createMemoryStore(store.snapshot()), session: 's' };
      const later = h.other({ ...session, allowance: { seconds: 10, period: 'day' } });
      await h.clock.advance(31_000);
      await passing(h.clock, later.call(callOf(h, 'c1')));
      expect([at, h.mock.jobs]).toEqual([at, 1]);
      expect(stepsIn(session.store)).toMatchObject([{ end: { executed: expect.anything() } }]);
      // Its account has room again, as far as it was not spent: whoever needs it looks after what is left.
      const next = h.other({ ...session, allowance: { seconds: 10 + spent, period: 'day' } });
      await passing(h.clock, next.callAll([callOf(h, 'c2')]));
      expect([at, usedOf(await accountOf(session.store, h))]).toEqual([at, 2 * spent]);
      if (over) break;
    }
    expect(points).toBeGreaterThan(15);
  });
});

test('C100: a process that wakes after another has run and settled its step holds nothing for it', async () => {
  const store = createMemoryStore();
  const h = await harness({
    gateway: { ...alone, store, session: 's' },
    mock: { otherwise: () => ({ result: 1, wallMs: 2000 }) },
  });
  let asleep = false;
  let wake = (): void => {};
  const sleep = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const get: typeof store.allowance.get = async (key) => {
    asleep = true;
    await sleep;
    return store.allowance.get(key);
  };
  const slow = h.other({ store: { ...store, allowance: { ...store.allowance, get } } });
  const late = slow.call(callOf(h, 'c1'));
  await until(() => asleep);
  await h.clock.advance(31_000);
  expect((await passing(h.clock, h.gateway.call(callOf(h, 'c1')))).status).toBe('completed');
  wake();
  expect((await passing(h.clock, late)).status).toBe('completed');
  expect(await accountOf(store, h)).toEqual(settled({ spent: 2 }));
  expect(h.mock.jobs).toBe(1);
});

test('C17, C21: of two processes that end, cancel and submit one step at once, what is charged is what its end says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), fc.boolean(), async (s, cancels) => {
      const memory = createMemoryStore();
      const { steps, allowance } = memory;
      const store: StorePort = {
        ...memory,
        steps: { ...steps, get: s.scheduleFunction(steps.get), update: s.scheduleFunction(steps.update) },
        allowance: { get: s.scheduleFunction(allowance.get), put: s.scheduleFunction(allowance.put) },
      };
      const h = await harness({
        gateway: { ...alone, store, session: 's', leaseMs: 1000 },
        mock: { otherwise: () => ({ result: 1, wallMs: 2000 }) },
      });
      const [one, two] = [h.gateway, h.other()];
      const controller = new AbortController();
      void s.schedule(Promise.resolve()).then(() => controller.abort());
      const both = Promise.all([
        one.call(callOf(h, 'c1')),
        two.call(callOf(h, 'c1')).then(async ({ step }) => {
          if (cancels) await two.approvals.cancel(step?.id ?? '');
        }),
        ...(cancels ? [two.call(callOf(h, 'c1'), { signal: controller.signal })] : []),
      ]);
      let over = false;
      both.finally(() => {
        over = true;
      });
      const time = async (): Promise<void> => {
        while (!over) await h.clock.advance(2000);
      };
      await Promise.all([time(), s.waitFor(both)]);
      const [step] = stepsIn(memory);
      await passing(h.clock, s.waitFor(one.close()));
      const executed = step?.end?.executed;
      const account = await accountOf(memory, h);
      if (executed === true) expect(account?.spent).toBe(2);
      if (executed === false) expect(account?.spent ?? 0).toBe(0);
      expect(h.mock.jobs).toBeLessThanOrEqual(1);
    }),
    { numRuns: 40 },
  );
});
