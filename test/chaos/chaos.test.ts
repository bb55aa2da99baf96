import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createMemoryStore } from '../../src/store/memory.ts';
import { forgetful, withoutCharges, withoutCompareAndSet, withoutKeys, withoutOpenSteps } from './broken.ts';
import { chaosSkills } from './calls.ts';
import { hashAtOnce } from './hashes.ts';
import { tallyKills } from './kill.ts';
import { type Tally, type TallyOptions, tallySchedules } from './run.ts';
import { makeSchedule, type Schedule } from './schedule.ts';
import { openStore, server } from './stores.ts';

hashAtOnce();

const skills = await chaosSkills();

function play(
  schedules: number | readonly number[],
  options: Pick<TallyOptions, 'store' | 'makeRun' | 'onPoint'>,
): Promise<Tally> {
  const indices = typeof schedules === 'number' ? Array(schedules).keys() : schedules;
  return tallySchedules({ seed: 1, indices, skills, ...options });
}

const calls = [
  ...['create', 'update', 'update withdrawing', 'update unplaced', 'get', 'findReplay', 'open', 'count'].map(
    (method) => `steps.${method}`,
  ),
  ...['find', 'list', 'put', 'remove'].map((method) => `grants.${method}`),
  ...['audit.head', 'audit.append', 'allowance.get', 'allowance.put', 'registry.listing'],
  ...['offers', 'submit', 'get', 'ticket', 'stream', 'cancel'].map((route) => `run.${route}`),
];
// Every kind of await point on the path of a call, at each of which a process may die.
const kinds = [
  ...calls.flatMap((call) => [`${call} before`, `${call} after`]),
  ...['approver', 'clock.sleep', 'policy'],
];
// Those at which so few schedules see one die.
const deaths = [
  ...['create', 'update', 'get', 'open', 'count'].flatMap((method) => [
    `steps.${method} before`,
    `steps.${method} after`,
  ]),
  ...['audit.head before', 'audit.head after', 'audit.append before', 'audit.append after'],
  ...['run.submit after', 'run.get before', 'run.cancel before', 'run.cancel after'],
  ...['steps.update unplaced after', 'policy', 'clock.sleep'],
];

test('C17, C21, C24, C28, C63, C96, C100: over the memory store nothing runs twice, is lost or is wrong', async () => {
  const met = new Set<string>();
  const onPoint = (_: number, __: number, what: string): void => void met.add(what);
  const { found, crashes } = await play(200, { store: createMemoryStore, onPoint });
  expect(found).toEqual([]);
  // It was no calm sea.
  expect([...met].sort()).toEqual(kinds.sort());
  expect([...crashes.keys()]).toEqual(expect.arrayContaining(deaths));
});

const databases = server === undefined ? (['sqlite'] as const) : (['sqlite', 'postgres'] as const);

test.each(databases)('C17, C21, C28, C100: nor over %s', async (name) => {
  await using store = await openStore(name);
  expect((await play(30, { store: store.next })).found).toEqual([]);
});

const program = fileURLToPath(new URL('../../build/chaos/child.mjs', import.meta.url));

test.each(databases)('C61, C100: nor over %s with processes that are killed', async (store) => {
  const schedules = [23, 26, 31].map((index) => makeSchedule(1, index));
  const tally = await tallyKills({ seed: 1, schedules, skills, store, program });
  expect(tally).toMatchObject({ schedules: 3, found: [] });
  expect(tally.crashes.get('SIGKILL')).toBeGreaterThan(0);
});

test('C18: chaos sees duplicates over a store without compare-and-set', async () => {
  const { duplicates, wrong } = await play(40, { store: withoutCompareAndSet });
  expect(duplicates).toBeGreaterThan(0);
  expect(wrong).toBeGreaterThan(0);
});

test('C96: chaos sees duplicates of a Run that does not heed keys', async () => {
  const { duplicates } = await play(120, { store: createMemoryStore, makeRun: withoutKeys });
  expect(duplicates).toBeGreaterThan(0);
});

test('C18, C63, C96: chaos with processes that are killed sees double decisions, double runs and a grant that was revoked', async () => {
  const made = makeSchedule(1, 0);
  const calm: Schedule = {
    ...made,
    own: false,
    pool: true,
    ends: [{ result: {} }],
    plans: made.plans.map((plan) => ({ ...plan, mode: 'ask', ceiling: null, listingMaxAgeMs: null })),
    acts: [
      { kind: 'call', wait: 0, by: 0, call: 0 },
      ...[1, 2, 3].map((by) => ({ kind: 'always', wait: 0, by, call: 0 }) as const),
      { kind: 'resume', wait: 4000, by: 1, call: 0 },
      { kind: 'revoke', wait: 3000, by: 2 },
      { kind: 'call', wait: 3000, by: 3, call: 2 },
    ],
    faults: [{ nth: 1, submit: true, kind: 'twice' }],
    store: { slow: 0, slowMs: 0, fail: 0 },
  };
  const schedules = Array.from({ length: 10 }, (_, index) => ({ ...calm, index }));
  const broken = { careless: true, makeRun: withoutKeys };
  const said: string[] = [];
  const missing = (): RegExp[] =>
    [/ was decided [23] times$/, /^c0 ran \d times$/, /, which had been revoked before$/].filter(
      (what) => !said.some((one) => what.test(one)),
    );
  // Who is killed, and how busy the machine is, decides how many of them come that far.
  for (let seed = 1; seed <= 10 && missing().length > 0; seed += 1) {
    const { found } = await tallyKills({ seed, schedules, skills, store: 'sqlite', program, ...broken });
    said.push(...found.flatMap(({ verdict }) => [...verdict.duplicates, ...verdict.wrong]));
  }
  expect(missing()).toEqual([]);
}, 120_000);

test('chaos sees what is lost over a store that finds no open step', async () => {
  expect((await play(40, { store: withoutOpenSteps })).lost).toBeGreaterThan(0);
});

test('chaos sees what is wrong over a store that forgets an update', async () => {
  expect((await play(40, { store: forgetful })).wrong).toBeGreaterThan(0);
});

test('chaos sees what nobody charged over a store that forgets it', async () => {
  expect((await play(80, { store: withoutCharges })).lost).toBeGreaterThan(0);
});

test.each([
  ['memory', 100],
  ['sqlite', 30],
] as const)('a schedule is played the same way every time over %s', async (name, schedules) => {
  const trace = async (): Promise<string[]> => {
    // Anew, as the persons are the same.
    await using store = await openStore(name);
    const traces: string[] = [];
    for (let index = 0; index < schedules; index += 1) {
      const points: string[] = [];
      await play([index], { store: store.next, onPoint: (...point) => void points.push(point.join(' ')) });
      traces.push(createHash('sha256').update(points.join('\n')).digest('hex'));
    }
    return traces;
  };
  const first = await trace();
  expect(new Set(first).size).toBe(schedules);
  expect(await trace()).toEqual(first);
});
