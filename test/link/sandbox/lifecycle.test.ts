import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSandbox } from '../../../src/link/sandbox/open.ts';
import { processTree, startTime } from '../../../src/link/sandbox/process-tree.ts';
import type { Sandbox, ToolRun } from '../../../src/link/sandbox/types.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';
import { backends, eventually, makeDirectory, toolRun } from './help.ts';

/** Milliseconds from the order to the end, with nothing left: 250, and as much for a machine that is busy. */
const bound = 500;
const hang = `process.stderr.write('up'); process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`;

interface Process {
  readonly pid: number;
  readonly born: number | undefined;
}

const below = (): Process[] =>
  processTree(process.pid)
    .slice(1)
    .map(({ pid }) => ({ pid, born: startTime(pid) }));
const alive = (those: Process[]): Process[] =>
  those.filter(({ pid, born }) => born !== undefined && startTime(pid) === born);

const opened: Sandbox[] = [];
let directory: Awaited<ReturnType<typeof makeDirectory>>;
beforeEach(async () => {
  directory = await makeDirectory();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.close()));
  expect(readdirSync(directory.path)).toEqual([]);
  expect(below()).toEqual([]);
  await directory[Symbol.asyncDispose]();
});

const worlds = backends.flatMap((backend) => [0, 1].map((warm) => ({ backend, warm })));
describe.each(worlds)('the end of a run on $backend with $warm started ahead', ({ backend, warm }) => {
  const open = async (): Promise<Sandbox> => {
    const sandbox = await openSandbox({ backend, directory: directory.path, warm });
    opened.push(sandbox);
    return sandbox;
  };

  /** Begins the `nth` run of a tool that does not end by itself. Each has two processes at least: a keeper, and inside. */
  async function begin(sandbox: Sandbox, nth: number, more: Partial<ToolRun> = {}) {
    let started = false;
    const onStart = () => {
      started = true;
    };
    const end = sandbox.run(toolRun(hang, { ...more, onStart }));
    expect(await eventually(() => started && below().length >= 2 * nth)).toBe(true);
    return { end, processes: below() };
  }

  it('comes with a cancel', async () => {
    const sandbox = await open();
    const stop = new AbortController();
    const { end, processes } = await begin(sandbox, 1, { signal: stop.signal });
    const since = performance.now();
    stop.abort();
    expect(await end).toMatchObject({ kind: 'cancelled' });
    expect(performance.now() - since).toBeLessThan(bound);
    expect(alive(processes)).toEqual([]);
  });

  it('comes with the wall', async () => {
    const sandbox = await open();
    const limits = { ...defaultLimits, wall_ms: 500 };
    const { kind, usage } = await sandbox.run(toolRun(hang, { limits }));
    expect(kind).toBe('limit');
    expect(usage.wallMs - limits.wall_ms).toBeLessThan(bound);
  });

  it('comes with a shutdown, for all at once', async () => {
    const sandbox = await open();
    const runs = [await begin(sandbox, 1), await begin(sandbox, 2), await begin(sandbox, 3)];
    const since = performance.now();
    await sandbox.close();
    expect(performance.now() - since).toBeLessThan(bound);
    for (const { end } of runs) expect(await end).toMatchObject({ kind: 'cancelled' });
    expect(below()).toEqual([]);
  });
});
