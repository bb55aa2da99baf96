import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { randomHex } from '../../src/ids.ts';
import type { StorePort } from '../../src/store/port.ts';
import { someGrant } from '../store/some.ts';
import { playFor, somebody, stepOf } from './store-path.ts';
import { type Opened, openTarget, type Target } from './store-target.ts';
import { type Figure, percentile, print } from './table.ts';

const playMs = 4000;
const sizes = [1000, 10_000, 100_000, 1_000_000];
const lookUps = 300;
/** A look-up among the most steps against one among the fewest. */
const flat = { most: 2 };

/** What a step costs in a database, and whether looking one up stays as quick however many are stored. */
export async function benchStore(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'openvibe-bench-'));
  const url = process.env.SKILL_RUN_POSTGRES;
  const postgres = (): Target =>
    url === undefined ? { pglite: true } : { postgres: url, schema: `bench_${randomHex(8)}` };
  const databases: [string, () => Target, number][] = [
    ['SQLite', () => ({ sqlite: join(folder, `${randomHex(8)}.db`) }), sizes.length],
    // PGlite holds its database in memory, and has one process.
    [url === undefined ? 'PGlite' : 'PostgreSQL', postgres, url === undefined ? 3 : sizes.length],
  ];
  try {
    const figures: Figure[] = [];
    for (const [name, target] of databases) figures.push(...(await throughput(name, target)));
    for (const [name, target, count] of databases) {
      figures.push(...(await curve(name, target(), sizes.slice(0, count))));
    }
    print(figures);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function throughput(name: string, target: () => Target): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const count of [1, 4]) {
    const one = target();
    if ('pglite' in one && count > 1) continue;
    await using(one, async ({ store }) => {
      const played = 'pglite' in one ? await playFor(store, playMs) : await processes(one, count);
      const who = count === 1 ? 'one process' : `${count} processes`;
      figures.push({ name: `${name}, ${who}`, p50: (played * 1000) / playMs, unit: 'steps/s' });
    });
  }
  return figures;
}

async function processes(target: Target, count: number): Promise<number> {
  const program = new URL('./store-worker.mjs', import.meta.url).pathname;
  const workers = await Promise.all(
    Array.from({ length: count }, async () => {
      const args = [program, JSON.stringify(target), String(playMs)];
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      if ((await lines.next()).value !== 'ready') throw new Error('A process of the bench did not start.');
      return { child, lines };
    }),
  );
  for (const { child } of workers) child.stdin.write('go\n');
  const played = await Promise.all(workers.map(async ({ lines }) => Number((await lines.next()).value)));
  return played.reduce((sum, one) => sum + one, 0);
}

async function curve(name: string, target: Target, upTo: readonly number[]): Promise<Figure[]> {
  const figures: Figure[] = [];
  await using(target, async (opened) => {
    const asks = await prepare(opened.store);
    const firsts = new Map<string, number>();
    let stored = 0;
    for (const size of upTo) {
      await fill(opened, target, stored, size);
      stored = size;
      for (const [ask, times] of await timesOf(asks)) {
        const p50 = percentile(times, 0.5);
        const first = firsts.get(ask) ?? p50;
        firsts.set(ask, first);
        figures.push(
          size === upTo[0]
            ? { name: `${name}, ${ask} of ${size}`, p50: p50 * 1000, unit: 'us' }
            : { name: `${name}, ${ask} of ${size}`, p50: p50 / first, unit: 'x', target: flat },
        );
      }
    }
  });
  return figures;
}

type Asks = ReadonlyMap<string, (n: number) => Promise<unknown>>;

/** 50 people, each with 4 steps that wait and a grant, and what is asked about them. */
async function prepare(store: StorePort): Promise<Asks> {
  const people = Array.from({ length: 50 }, somebody);
  const steps = people.flatMap((scope) => Array.from({ length: 4 }, () => stepOf(scope, 's')));
  const grants = await Promise.all(steps.map((step) => someGrant(step)));
  for (const step of steps) await store.steps.create(step);
  for (const grant of grants) await store.grants.put(grant);
  const of = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;
  return new Map<string, (n: number) => Promise<unknown>>([
    ['open', (n) => store.steps.open(of(people, n))],
    ['steps.get', (n) => store.steps.get(of(steps, n * 7).id)],
    ['grants.find', (n) => store.grants.find(of(grants, n * 7).key)],
    ['count', (n) => store.steps.count({ scope: of(people, n), session: 's', turn: 't' })],
  ]);
}

// Interleaved, so that whatever else the machine does falls on all of them.
async function timesOf(asks: Asks): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>([...asks.keys()].map((name) => [name, []]));
  for (let n = -lookUps; n < lookUps; n += 1) {
    for (const [name, ask] of asks) {
      const start = performance.now();
      await ask(Math.abs(n));
      if (n >= 0) times.get(name)?.push(performance.now() - start);
    }
  }
  return times;
}

/** Steps of others that have ended, and a grant for every tenth: keys as wide as true ones, records of no content. */
async function fill({ query }: Opened, target: Target, from: number, to: number): Promise<void> {
  const lite = 'sqlite' in target;
  const numbers = lite
    ? `with recursive ns(n) as (select ${from + 1} union all select n + 1 from ns where n < ${to}) `
    : `with ns(n) as (select generate_series(${from + 1}, ${to})) `;
  const wide = (prefix: string, width: number, n = 'n') =>
    lite ? `'${prefix}' || printf('%0${width}d', ${n})` : `'${prefix}' || lpad((${n})::text, ${width}, '0')`;
  const [subject, project] = [wide('usr_', 26, 'n / 50'), wide('prj_', 26, 'n / 50')];
  await query(
    `insert into skill_run_steps ${numbers}select ${wide('stp_', 26)}, 7, ${subject}, ${project}, ${wide('', 64, 'n / 20')}, ${wide('', 64, 'n / 5')}, ${wide('', 64)}, 'ended', 0, 1, ${wide('r', 63)}, '{}' from ns`,
  );
  await query(
    `insert into skill_run_grants ${numbers}select ${wide('', 64)}, ${wide('grt_', 26)}, ${subject}, ${project}, '{}' from ns where n % 10 = 0`,
  );
  if (!lite) await query('analyze');
}

async function using(target: Target, work: (opened: Opened) => Promise<void>): Promise<void> {
  const opened = await openTarget(target);
  try {
    await work(opened);
  } finally {
    if ('postgres' in target) await opened.query(`drop schema ${target.schema} cascade`);
    await opened.close();
  }
}
