import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { SkillGateway } from '../../src/gateway/gateway.ts';
import type { Outcome } from '../../src/gateway/outcome.ts';
import type { RunService } from '../../src/run/service.ts';
import type { StepRecord } from '../../src/step/record.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import type { MockEnd } from '../../src/testing/mock-script.ts';
import { ann, type Harness, harness, submitBodies } from '../support/harness.ts';

const by = ann.subject;

const toOne = ['call', 'abortedCall', 'approve', 'always', 'deny', 'cancel', 'resume'] as const;

/** What somebody does, to the `at`th call or step, through one of two gateways. */
type Act =
  | { readonly kind: (typeof toOne)[number]; readonly at: number; readonly second: boolean }
  | { readonly kind: 'revoke' | 'resumeAll'; readonly at: 0; readonly second: boolean }
  | { readonly kind: 'advance'; readonly ms: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom(...toOne, 'call', 'approve', 'approve', 'deny', 'resume', 'resume', 'resume'),
      at: fc.nat({ max: 2 }),
      second: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('revoke', 'resumeAll'),
      at: fc.constant(0),
      second: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('advance'), ms: fc.constantFrom(1, 1000, 31_000, 61_000) }),
  },
);

/** The store, each of whose operations begins when the scheduler says so. */
function scheduled(memory: MemoryStore, s: fc.Scheduler): StorePort {
  const { steps, grants, audit, allowance } = memory;
  return {
    durable: false,
    steps: {
      create: s.scheduleFunction(steps.create),
      get: s.scheduleFunction(steps.get),
      findReplay: s.scheduleFunction(steps.findReplay),
      update: s.scheduleFunction(steps.update),
      open: s.scheduleFunction(steps.open),
      count: s.scheduleFunction(steps.count),
    },
    grants: { ...grants, find: s.scheduleFunction(grants.find), remove: s.scheduleFunction(grants.remove) },
    audit,
    allowance,
  };
}

interface World {
  readonly h: Harness;
  readonly memory: MemoryStore;
  readonly gateways: readonly SkillGateway[];
  readonly outcomes: Outcome[];
  readonly decided: Map<string, number>;
}

async function makeWorld(s: fc.Scheduler, end: MockEnd): Promise<World> {
  const memory = createMemoryStore();
  const decided = new Map<string, number>();
  const counting: MemoryStore = {
    ...memory,
    steps: {
      ...memory.steps,
      async update(step) {
        const before = (await memory.steps.get(step.id))?.state;
        const stored = await memory.steps.update(step);
        const isDecision = before === 'pending' && (step.state === 'approved' || step.state === 'denied');
        if (stored && isDecision) decided.set(step.id, (decided.get(step.id) ?? 0) + 1);
        return stored;
      },
    },
  };
  const h = await harness({ mock: { otherwise: () => end } });
  const run: RunService = {
    ...h.run,
    // At every submit the record says that it may be: approved, not asked to end, this attempt recorded.
    async submit(request, context) {
      const step = await memory.steps.get(stepOf(request.idempotency_key));
      expect(step).toMatchObject({ decision: { effect: 'approve' }, state: 'submitting', end: null });
      expect(step?.attempts.at(-1)?.key).toBe(request.idempotency_key);
      return h.run.submit(request, context);
    },
  };
  const make = () => h.other({ run, store: scheduled(counting, s), session: 's', approvalExpiryMs: 60_000 });
  return { h, memory, gateways: [make(), make()], outcomes: [], decided };
}

const stepOf = (key: string): string => key.split(':')[1] ?? '';
const stepsIn = (memory: MemoryStore): StepRecord[] => JSON.parse(memory.snapshot()).steps;

/** Lets the scheduler and the clock go on until the promise has settled. */
async function going(h: Harness, s: fc.Scheduler, promise: Promise<void>): Promise<void> {
  let over = false;
  const end = (): void => {
    over = true;
  };
  promise.then(end, end);
  const time = async (): Promise<void> => {
    while (!over) await h.clock.advance(5000);
  };
  await Promise.all([time(), s.waitFor(promise)]);
}

async function perform(world: World, doing: Act): Promise<void> {
  const { h, memory, gateways, outcomes } = world;
  if (doing.kind === 'advance') return h.clock.advance(doing.ms);
  const gateway = gateways[doing.second ? 1 : 0] as SkillGateway;
  if (doing.kind === 'resumeAll') {
    outcomes.push(...(await gateway.resumeAll()));
    return;
  }
  if (doing.kind === 'revoke') {
    for (const { id } of await gateway.grants.list()) await gateway.grants.revoke(id);
    return;
  }
  const call = { id: `c${doing.at}`, name: h.slugify, arguments: { title: `${doing.at}` } };
  if (doing.kind === 'call') {
    outcomes.push(await gateway.call(call));
    return;
  }
  if (doing.kind === 'abortedCall') {
    const controller = new AbortController();
    const outcome = gateway.call(call, { signal: controller.signal });
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    outcomes.push(await outcome);
    return;
  }
  const id = stepsIn(memory)[doing.at]?.id;
  if (id === undefined) return;
  try {
    if (doing.kind === 'approve') await gateway.approvals.approve(id, { by });
    else if (doing.kind === 'always') await gateway.approvals.approve(id, { by, always: true });
    else if (doing.kind === 'deny') await gateway.approvals.deny(id, { by });
    else if (doing.kind === 'cancel') await gateway.approvals.cancel(id);
    else outcomes.push(await gateway.resume(id));
  } catch (error) {
    expect((error as { code?: string }).code).toMatch(/^step_(already_decided|expired)$/);
  }
}

function check({ h, memory, outcomes, decided }: World): void {
  const steps = new Map(stepsIn(memory).map((step) => [step.id, step]));
  const keys = submitBodies(h).map((body) => body.idempotency_key);
  const submitted = new Set(keys.map(stepOf));
  // Never more than one job a step: one key each, and Run makes one job of a key.
  expect(new Set(keys).size).toBe(submitted.size);
  expect(h.mock.jobs).toBe(submitted.size);
  for (const [id, step] of steps) {
    expect(decided.get(id) ?? 0).toBeLessThanOrEqual(1);
    if (['pending', 'approved', 'denied', 'expired', 'cancelled', 'refused'].includes(step.state)) {
      expect([id, submitted.has(id)]).toEqual([id, false]);
    }
    if (step.end?.status === 'cancelled' && step.end.executed === false && step.end.job === undefined) {
      expect(submitted.has(id)).toBe(false);
    }
  }
  const jobs = new Map<string, string>();
  for (const outcome of outcomes) {
    const id = outcome.step?.id ?? '';
    expect(steps.has(id)).toBe(true);
    if (['denied', 'expired', 'refused'].includes(outcome.status)) expect(submitted.has(id)).toBe(false);
    if (outcome.status === 'cancelled' && outcome.executed === false && outcome.job === undefined) {
      expect(submitted.has(id)).toBe(false);
    }
    if (outcome.executed === true) expect(submitted.has(id)).toBe(true);
    if (outcome.job) {
      expect(jobs.get(id) ?? outcome.job.id).toBe(outcome.job.id);
      jobs.set(id, outcome.job.id);
    }
  }
}

test('whatever happens in whatever order over two gateways: at most one decision and one job a step', async () => {
  const ends = fc.constantFrom<MockEnd[]>(
    { result: 1 },
    { result: 1, runMs: 2000 },
    { unplaceable: true },
    { hang: 'until-cancel' },
    { fail: 'run.job.exit_nonzero', exitCode: 1 },
  );
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.tuple(act, fc.boolean()), { minLength: 4, maxLength: 16 }),
      ends,
      async (s, acts, end) => {
        const world = await makeWorld(s, end);
        const { h, memory } = world;
        const begun: Promise<void>[] = [];
        const all = (async () => {
          for (const at of [0, 1]) await perform(world, { kind: 'call', at, second: at === 1 });
          for (const [doing, wait] of acts) {
            const one = perform(world, doing);
            begun.push(one);
            if (wait && doing.kind !== 'resume' && doing.kind !== 'resumeAll')
              await Promise.race([one, h.clock.whenSleeping()]);
          }
          await Promise.all(begun);
        })();
        await going(h, s, all);
        check(world);
        // Then everybody comes back: each step comes to one end, and nothing of the above changes.
        const last = (async () => {
          for (const gateway of world.gateways) world.outcomes.push(...(await gateway.resumeAll()));
        })();
        await going(h, s, last);
        check(world);
        for (const step of stepsIn(memory)) seen.add(step.end?.status ?? step.state);
      },
    ),
    { numRuns: 50, interruptAfterTimeLimit: 20_000 },
  );
  expect(seen.size).toBeGreaterThan(3);
});
