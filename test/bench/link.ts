import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from '../../src/link/sandbox/command.ts';
import { findProgram } from '../../src/link/sandbox/host.ts';
import { openAdjustedSandbox } from '../../src/link/sandbox/open.ts';
import type { Backend, Sandbox, ToolRun } from '../../src/link/sandbox/types.ts';
import { defaultLimits, type Net } from '../../src/skill/caps.ts';
import { buildWorld, somewhere, trusting } from '../link/egress/world.ts';
import { profile, profileWarm } from './profile.ts';
import { type Figure, percentile, print, reachesGoal } from './table.ts';

const rounds = 30;
/** Rounds before those, in which a sandbox learns what is asked of it. */
const warmUp = 4;
/** Milliseconds in which the sandbox after the one that was just used comes up. */
const calmMs = 200;
const jobs = 100;

const code = `
let text = '';
process.stdin.on('data', (chunk) => { text += chunk; }).on('end', () => {
  const { title } = JSON.parse(text);
  process.stdout.write(JSON.stringify({ slug: title.toLowerCase().replace(/[^a-z0-9]+/g, '-') }));
});`;
const fetching = `
fetch('https://site.example.com/').then((response) => response.text()).then((text) => {
  process.stdout.write(JSON.stringify({ text }));
});`;

// What it is held against: the same of a plain Node, which has no name for the server and so no trust in it.
const trustsAll = { NODE_TLS_REJECT_UNAUTHORIZED: '0', NODE_NO_WARNINGS: '1' };

const toolRun = (text: string, net: Net): ToolRun => ({
  files: [{ path: 'main.js', bytes: Buffer.from(text) }],
  entry: 'main.js',
  input: { title: 'What a run costs' },
  limits: defaultLimits,
  net,
});
const slug = toolRun(code, 'deny');
const asItIs = (command: Command): Command => command;
// One that has a network and does without it costs the target; one that fetches loads `fetch` and TLS besides, as
// a plain Node does for it.
const networks = [
  { name: 'network, no fetch', text: code, most: 2.9, goal: 1.8, adjust: asItIs },
  // Only here: with a certificate of ours Node reads all those that it trusts at its start, 18 ms of it.
  { name: 'network, fetch over TLS', text: fetching, adjust: trusting },
];

const backends: Backend[] = findProgram('bwrap') === undefined ? ['util-linux'] : ['bwrap', 'util-linux'];
const cold = { bwrap: { most: 1.5, goal: 1.3 }, 'util-linux': { most: 1.9, goal: 1.6 } } as const;

/** A way to run a tool in a sandbox. */
interface Case {
  readonly name: string;
  readonly backend: Backend;
  /** How many sandboxes wait. */
  readonly warm: number;
  readonly text: string;
  readonly net: Net;
  readonly adjust: (command: Command) => Command;
  /** At most so many times what plain Node takes, and better at most `goal` times. */
  readonly most?: number;
  readonly goal?: number;
}

const cases: readonly Case[] = backends.flatMap((backend): Case[] => {
  const alone = { backend, text: code, net: 'deny', adjust: asItIs } as const;
  return [
    { ...alone, name: `cold ${backend}`, warm: 0, ...cold[backend] },
    { ...alone, name: `warm ${backend}`, warm: 1, most: 0.3, goal: 0.15 },
    ...(backend !== 'bwrap' ? [] : networks).flatMap(({ name, text, adjust, ...bounds }): Case[] => [
      { backend, name: `cold ${backend}, ${name}`, warm: 0, text, net: 'public', adjust, ...bounds },
      { backend, name: `warm ${backend}, ${name}`, warm: 2, text, net: 'public', adjust },
    ]),
  ];
});

/**
 * What a run costs against plain Node, and how many fit into a second; for each way whose goal is missed, also where
 * its time goes.
 *
 * @param options `profile`: only where the time goes, for each way
 */
export async function benchLink(options: { profile: boolean }): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'openvibe-bench-'));
  const sandboxes: Sandbox[] = [];
  await using world = await buildWorld((_request, response) => response.end('hello'));
  world.names.set('site.example.com', [[somewhere]]);
  const { outside } = world;
  try {
    await chmod(directory, 0o755);
    const profiles = async (of: readonly Case[]): Promise<void> => {
      for (const { name, backend, warm, text, net, adjust } of of) {
        const tell = warm > 0 ? profileWarm : profile;
        print(await tell(name, toolRun(text, net), text, { backend, directory, warm, outside, adjust }));
      }
    };
    if (options.profile) return await profiles(cases);
    const entry = join(directory, 'main.js');
    await writeFile(entry, code);
    const fetchEntry = join(directory, 'fetch.js');
    await writeFile(fetchEntry, fetching.replace('https://site.example.com/', world.url));
    const ways: Way[] = [
      { name: 'plain node', once: () => plain(entry) },
      { name: 'plain node, fetch over TLS', once: () => plain(fetchEntry, trustsAll) },
    ];
    const built = new Map<Case, Sandbox>();
    for (const one of cases) {
      const { name, backend, warm, text, net, adjust, most, goal } = one;
      // The next one is started while the machine is calm, and not in the middle of another way.
      const sandbox = await openAdjustedSandbox({ backend, directory, warm }, adjust, outside, { restMs: 0 });
      sandboxes.push(sandbox);
      if (!sandbox.nets.includes(net)) continue;
      built.set(one, sandbox);
      const run = toolRun(text, net);
      ways.push({ name, most, goal, once: () => inside(sandbox, run) });
    }
    const figures = await ratios(ways);
    const missed = new Set(figures.filter((figure) => !reachesGoal(figure)).map(({ name }) => name));
    for (const [{ backend, net, warm }, sandbox] of built) {
      if (net === 'deny' && warm === 0) figures.push(...(await throughput(backend, sandbox)));
    }
    print(figures);
    await profiles(cases.filter(({ name }) => missed.has(name)));
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
    await rm(directory, { recursive: true, force: true });
  }
}

interface Way {
  readonly name: string;
  readonly most?: number | undefined;
  readonly goal?: number | undefined;
  once(): Promise<void>;
}

// Interleaved, so that whatever else the machine does falls on all of them; each begins with the machine calm.
async function ratios(ways: readonly Way[]): Promise<Figure[]> {
  const samples = new Map<Way, number[]>(ways.map((way) => [way, []]));
  for (let round = -warmUp; round < rounds; round += 1) {
    for (const [at] of ways.entries()) {
      const way = ways[(at + Math.max(0, round)) % ways.length] as Way;
      await pause(calmMs);
      const ms = await time(way.once);
      if (round >= 0) samples.get(way)?.push(ms);
    }
  }
  const [base = []] = samples.values();
  const of = (way: Way, share: number): number => percentile(samples.get(way) ?? [], share);
  return [
    { name: 'plain node', p50: percentile(base, 0.5), p95: percentile(base, 0.95), unit: 'ms' },
    ...ways.slice(1).map((way): Figure => {
      const p50 = of(way, 0.5) / percentile(base, 0.5);
      const p95 = of(way, 0.95) / percentile(base, 0.95);
      return {
        name: way.name,
        p50,
        p95,
        unit: 'x',
        ...(way.most !== undefined && { target: { most: way.most } }),
        ...(way.goal !== undefined && { goal: { most: way.goal } }),
      };
    }),
  ];
}

// In alternating parts, for the same reason.
async function throughput(backend: Backend, sandbox: Sandbox): Promise<Figure[]> {
  const parts = 4;
  let alone = 0;
  let two = 0;
  const took = new Map<number, number[]>([
    [1, []],
    [2, []],
  ]);
  const some = async (count: number, beside: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) took.get(beside)?.push(await time(() => inside(sandbox, slug)));
  };
  for (let part = 0; part < parts; part += 1) {
    alone += await time(() => some(jobs / parts, 1));
    two += await time(async () => {
      await Promise.all([some(jobs / parts / 2, 2), some(jobs / parts / 2, 2)]);
    });
  }
  const each = (name: string, beside: number): Figure => {
    const samples = took.get(beside) ?? [];
    return { name, p50: percentile(samples, 0.5), p95: percentile(samples, 0.95), unit: 'ms' };
  };
  const perSecond = (ms: number): number => (jobs * 1000) / ms;
  return [
    each(`a job of one after another, cold ${backend}`, 1),
    each(`a job of two at once, cold ${backend}`, 2),
    { name: `one after another, cold ${backend}`, p50: perSecond(alone), unit: 'jobs/s' },
    { name: `two at once, cold ${backend}`, p50: perSecond(two), unit: 'jobs/s' },
    { name: `two at once against one, cold ${backend}`, p50: alone / two, unit: 'x', target: { least: 1.4 } },
  ];
}

async function time(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

async function plain(entry: string, env: Record<string, string> = {}): Promise<void> {
  const child = spawn(process.execPath, [entry], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(slug.input));
  child.stdout.resume();
  const [status] = await once(child, 'close');
  if (status !== 0) throw new Error('Plain Node did not run the tool.');
}

async function inside(sandbox: Sandbox, run: ToolRun): Promise<void> {
  const end = await sandbox.run(run);
  if (end.kind !== 'exited') throw new Error(`The sandbox did not run the tool: ${end.kind}. ${end.stderr}`);
}
