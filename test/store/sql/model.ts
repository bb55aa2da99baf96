import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import type { StepRecord, StepState } from '../../../src/step/record.ts';
import { type AuditEntry, chainEntry } from '../../../src/store/audit.ts';
import type { Grant } from '../../../src/store/grant.ts';
import { createMemoryStore } from '../../../src/store/memory.ts';
import type { StorePort, StoreScope } from '../../../src/store/port.ts';
import { ann, ben } from '../../support/harness.ts';
import { someRun, someStep, someTime } from '../../support/step.ts';
import { someFacts, someGrant } from '../some.ts';
import type { Place } from './places.ts';

/** The memory store, which is right, and what was made so far, to come back to. */
interface Model {
  readonly memory: StorePort;
  readonly steps: StepRecord[];
  readonly grants: Grant[];
  readonly entries: AuditEntry[];
}

interface Real {
  readonly place: Place;
  store: StorePort;
}

const people: readonly StoreScope[] = [ann, { ...ann, project: ben.project }, ben];
const ends: readonly StepState[] = ['ended', 'denied', 'cancelled'];
const states: readonly StepState[] = ['pending', 'approved', 'submitting', ...ends];

/** One operation of the port: what it asks is made from the model alone, and both must answer the same. */
function command(name: string, make: (model: Model) => Promise<(store: StorePort) => Promise<unknown>>) {
  return {
    check: () => true,
    async run(model: Model, real: Real): Promise<void> {
      const ask = await make(model);
      expect(await ask(real.store), name).toEqual(await ask(model.memory));
    },
    toString: () => name,
  };
}

const at = <T>(list: readonly T[], n: number): T | undefined => list[n % Math.max(1, list.length)];
const n = fc.nat({ max: 5 });
const who = fc.constantFrom(...people);
const text = fc.constantFrom('s', 't', '');
const state = fc.constantFrom(...states);

function endOf(of: StepState, executed: boolean | 'unknown'): StepRecord['end'] {
  return ends.includes(of) ? { status: 'completed', executed, message: '', at: '' } : null;
}

const commands = [
  fc
    .tuple(who, text, text, fc.constantFrom(null, 'k', 'l'), state)
    .map(([owner, session, turn, replayKey, is]) =>
      command(`create ${session} ${turn} ${replayKey} ${is}`, async (model) => {
        const id = newId('stp', someTime + model.steps.length);
        const end = endOf(is, false);
        const step = someStep({
          id,
          owner: { ...owner, agent: null },
          session,
          turn,
          replayKey,
          state: is,
          end,
        });
        model.steps.push(step);
        return (store) => store.steps.create(step);
      }),
    ),
  fc
    .tuple(n, state, fc.constantFrom(0, 1, 1, 1, 2), fc.constantFrom(true, false, 'unknown' as const))
    .map(([which, is, by, executed]) =>
      command(`update ${which} to ${is} by ${by}`, async (model) => {
        const known = at(model.steps, which) ?? someStep();
        const stored = (await model.memory.steps.get(known.id)) ?? known;
        const step = { ...stored, state: is, end: endOf(is, executed), revision: stored.revision + by };
        return (store) => store.steps.update(step);
      }),
    ),
  n.map((which) =>
    command(
      `get ${which}`,
      async ({ steps }) =>
        (store) =>
          store.steps.get(at(steps, which)?.id ?? ''),
    ),
  ),
  fc
    .constantFrom('k', 'l', '')
    .map((key) => command(`findReplay ${key}`, async () => (store) => store.steps.findReplay(key))),
  who.map((scope) => command('open', async () => (store) => store.steps.open(scope))),
  fc
    .record(
      {
        session: text,
        turn: text,
        state,
        ran: fc.constant(true as const),
        digest: fc.constantFrom('c'.repeat(64), 'd'),
      },
      { requiredKeys: ['session'] },
    )
    .chain((query) => who.map((scope) => ({ scope, ...query })))
    .map((query) =>
      command(`count ${JSON.stringify(query)}`, async () => (store) => store.steps.count(query)),
    ),
  fc.tuple(who, n).map(([owner, tool]) =>
    command(`put grant ${tool}`, async (model) => {
      const run = { ...someRun, tool: `tool${tool % 2}` };
      const made = await someGrant(someStep({ owner: { ...owner, agent: null }, run }));
      const grant = { ...made, id: newId('grt', someTime + model.grants.length) };
      model.grants.push(grant);
      return (store) => store.grants.put(grant);
    }),
  ),
  n.map((which) =>
    command(
      `find ${which}`,
      async ({ grants }) =>
        (store) =>
          store.grants.find(at(grants, which)?.key ?? ''),
    ),
  ),
  fc.tuple(n, who).map(([which, scope]) =>
    command(
      `remove ${which}`,
      async ({ grants }) =>
        (store) =>
          store.grants.remove(at(grants, which)?.id ?? '', scope),
    ),
  ),
  who.map((scope) => command('list grants', async () => (store) => store.grants.list(scope))),
  fc.tuple(who, fc.boolean(), n).map(([scope, stale, which]) =>
    command(`append ${stale ? 'after an old one' : ''}`, async (model) => {
      const head = stale ? at(model.entries, which) : await model.memory.audit.head(scope);
      const entry = await chainEntry(scope, head, newId('aud', someTime), someFacts);
      model.entries.push(entry);
      return (store) => store.audit.append(scope, entry);
    }),
  ),
  who.map((scope) => command('head', async () => (store) => store.audit.head(scope))),
  fc
    .tuple(who, n, n)
    .map(([scope, after, limit]) =>
      command(`page ${after} ${limit}`, async () => (store) => store.audit.list(scope, { after, limit })),
    ),
  fc.tuple(text, n, fc.boolean()).map(([key, revision, next]) =>
    command(`put allowance ${key}`, async ({ memory }) => {
      const stored = (await memory.allowance.get(key))?.revision ?? 0;
      const record = { key, revision: next ? stored + 1 : revision, spent: revision / 3, held: { [key]: 1 } };
      return (store) => store.allowance.put(record);
    }),
  ),
  text.map((key) => command(`get allowance ${key}`, async () => (store) => store.allowance.get(key))),
  fc.constant({
    check: () => true,
    async run(_: Model, real: Real): Promise<void> {
      real.store = await real.place.open();
    },
    toString: () => 'open again',
  }),
];

/** Whatever is done, in whatever order: the store answers as the memory store does. */
export function modelSuite(placeOf: () => Promise<Place>): void {
  test('every sequence of operations is answered as the memory store answers it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (sequence) => {
        const place = await placeOf();
        try {
          const model = { memory: createMemoryStore(), steps: [], grants: [], entries: [] };
          const real = { place, store: await place.open() };
          await fc.asyncModelRun(() => ({ model, real }), sequence);
        } finally {
          await place.close();
        }
      }),
      { numRuns: 30 },
    );
  });
}
