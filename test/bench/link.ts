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
import { type Figure, isMet, percentile, print } from './table.ts';

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
  { name: 'network, no fetch', text: code, run: toolRun(code, 'public'), most: 2.9, adjust: asItIs },
  {
    name: 'network, fetch over TLS',
    text: fetching,
    run: toolRun(fetching, 'public'),
    // Only here: with a certificate of ours Node reads all those that it trusts at its start, 18 ms of it.
    adjust: trusting,
  },
];

const backends: Backend[] = findProgram('bwrap') === undefined ? ['util-linux'] : ['bwrap', 'util-linux'];
const coldTargets = { bwrap: 1.5, 'util-linux': 1.9 } as const;

/**
 * What a run costs against plain Node, and how many fit into a second. Where that is missed, also where the time
 * goes.
 *
 * @param options `profile`: only where the time goes
 */
export async function benchLink(options: { profile: boolean }): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'openvibe-bench-'));
  const sandboxes: Sandbox[] = [];
  await using world = await buildWorld((_request, response) => response.end('hello'));
  world.names.set('site.example.com', [[somewhere]]);
  const open = async (backend: Backend, warm: number, adjust = asItIs): Promise<Sandbox> => {
    // The next one is started while the machine is calm, and not in the middle of another way.
    const times = { restMs: 0 };
    const sandbox = await openAdjustedSandbox({ backend, directory, warm }, adjust, world.outside, times);
    sandboxes.push(sandbox);
    return sandbox;
  };
  try {
    await chmod(directory, 0o755);
    const profiles = async (): Promise<void> => {
      for (const backend of backends) {
        const ground = { backend, directory, outside: world.outside };
        print(await profile(`cold ${backend}`, slug, code, { ...ground, adjust: asItIs }));
        print(await profileWarm(`warm ${backend}`, slug, code, { ...ground, adjust: asItIs }));
        if (backend !== 'bwrap') continue;
        for (const { name, run, text, adjust } of networks) {
          print(await profile(`cold ${backend}, ${name}`, run, text, { ...ground, adjust }));
        }
      }
    };
    if (options.profile) return await profiles();
    const entry = join(directory, 'main.js');
    await writeFile(entry, code);
    const cold = new Map<Backend, Sandbox>();
    const fetchEntry = join(directory, 'fetch.js');
    await writeFile(fetchEntry, fetching.replace('https://site.example.com/', world.url));
    const ways: Way[] = [
      { name: 'plain node', once: () => plain(entry) },
      { name: 'plain node, fetch over TLS', once: () => plain(fetchEntry, trustsAll) },
    ];
    for (const backend of backends) {
      const built = await open(backend, 0);
      const ahead = await open(backend, 1);
      cold.set(backend, built);
      ways.push({ name: `cold ${backend}`, most: coldTargets[backend], once: () => inside(built, slug) });
      ways.push({ name: `warm ${backend}`, most: 0.3, once: () => inside(ahead, slug) });
      if (!built.nets.includes('public')) continue;
      for (const { name, run, most, adjust } of networks) {
        const [one, another] = [await open(backend, 0, adjust), await open(backend, 2, adjust)];
        const target = most === undefined ? {} : { most };
        ways.push({ name: `cold ${backend}, ${name}`, ...target, once: () => inside(one, run) });
        ways.push({ name: `warm ${backend}, ${name}`, once: () => inside(another, run) });
      }
    }
    const figures = await ratios(ways);
    for (const [backend, sandbox] of cold) figures.push(...(await throughput(backend, sandbox)));
    print(figures);
    if (!figures.every(isMet)) await profiles();
  } finally {
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
    await rm(directory, { recursive: true, force: true });
  }
}

interface Way {
  readonly name: string;
  readonly most?: number;
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
