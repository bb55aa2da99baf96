import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { internet } from '../../../src/link/egress/outside.ts';
import { type BaseFolder, createBaseFolder } from '../../../src/link/sandbox/base-folder.ts';
import type { Ground } from '../../../src/link/sandbox/ground.ts';
import { findProgram } from '../../../src/link/sandbox/host.ts';
import { processLimits } from '../../../src/link/sandbox/limits.ts';
import { inspectNode } from '../../../src/link/sandbox/node-binary.ts';
import { childrenOf, processTree, startTime } from '../../../src/link/sandbox/process-tree.ts';
import { isArchitecture } from '../../../src/link/sandbox/seccomp.ts';
import { makeMountPoints, utilLinuxCommand } from '../../../src/link/sandbox/util-linux.ts';
import { startWarm } from '../../../src/link/sandbox/warm.ts';
import { defaultClass } from '../../../src/link/sandbox/warm-class.ts';
import { createWarmPool } from '../../../src/link/sandbox/warm-pool.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';
import { eventually, makeDirectory, toolRun } from './help.ts';

let directory: Awaited<ReturnType<typeof makeDirectory>>;
let base: BaseFolder;
let ground: Ground;
beforeEach(async () => {
  directory = await makeDirectory();
  const { arch } = process;
  if (!isArchitecture(arch)) throw new Error('There is no sandbox for this architecture.');
  base = await createBaseFolder(arch, directory.path);
  const node = await inspectNode(process.execPath);
  makeMountPoints(node, base);
  ground = {
    backend: 'util-linux',
    node,
    base,
    image: false,
    nets: ['deny'],
    outside: internet,
    command: (job) => utilLinuxCommand(job, (name) => findProgram(name) ?? ''),
  };
});
afterEach(async () => {
  expect(keepers()).toEqual([]);
  expect(jobs()).toEqual([]);
  await directory[Symbol.asyncDispose]();
});

const bytes = 1 << 30;
const keepers = (): number[] => childrenOf(process.pid);
const jobs = (): string[] => readdirSync(base.path).filter((name) => name.startsWith('job-'));

describe('a pool', () => {
  it('starts as many as it is told, gives each once, and starts no more until it is asked', async () => {
    const pool = createWarmPool(ground, { places: 2, bytes });
    expect(await pool.take(toolRun(''))).toBeUndefined();
    pool.fill();
    pool.fill();
    const [first, second, third] = [toolRun(''), toolRun(''), toolRun('')].map((run) => pool.take(run));
    const given = [await first, await second];
    expect(await third).toBeUndefined();
    expect(new Set(given.map((one) => one?.launched.pid)).size).toBe(2);
    expect(keepers()).toHaveLength(2);
    await pool.close();
    expect(keepers()).toHaveLength(2);
    for (const one of given) await one?.discard();
  });

  it('exchanges one that is old', async () => {
    const pool = createWarmPool(ground, { places: 1, bytes, ageMs: [150, 150] });
    pool.fill();
    expect(await eventually(() => keepers().length === 1)).toBe(true);
    const [old = 0] = keepers();
    const born = startTime(old);
    expect(await eventually(() => startTime(old) !== born && keepers().length === 1)).toBe(true);
    await pool.close();
    expect(await pool.take(toolRun(''))).toBeUndefined();
  });

  it('forgets one that died while it waited, and removes its folder', async () => {
    const pool = createWarmPool(ground, { places: 1, bytes });
    pool.fill();
    // Keeper and Node: it waits.
    expect(await eventually(() => processTree(process.pid).length === 3)).toBe(true);
    for (const { pid } of processTree(process.pid).slice(1).reverse()) process.kill(pid, 'SIGKILL');
    expect(await eventually(() => jobs().length === 0)).toBe(true);
    expect(await pool.take(toolRun(''))).toBeUndefined();
    await pool.close();
  });

  it('leaves nothing when it is closed in the middle of a start, and starts nothing after', async () => {
    const pool = createWarmPool(ground, { places: 3, bytes });
    pool.fill();
    await pool.close();
    expect(keepers()).toEqual([]);
    pool.fill();
    expect(await pool.take(toolRun(''))).toBeUndefined();
  });

  it('learns what is asked for, makes room for the latest of it, and forgets it again', async () => {
    const now = vi.spyOn(performance, 'now');
    const pool = createWarmPool(ground, { places: 2, bytes, recallMs: 1000 });
    const ask = async (mem_bytes: number): Promise<boolean> => {
      const warm = await pool.take(toolRun('', { limits: { ...defaultLimits, mem_bytes } }));
      if (warm !== undefined) pool.release(warm);
      pool.fill();
      return warm !== undefined;
    };
    pool.fill();
    expect(await ask(64 << 20)).toBe(false);
    expect(await ask(64 << 20)).toBe(true);
    expect(await ask(32 << 20)).toBe(false);
    expect(await ask(64 << 20)).toBe(false);
    expect(await ask(defaultLimits.mem_bytes)).toBe(true);
    expect(await eventually(() => keepers().length === 2)).toBe(true);
    now.mockReturnValue(performance.now() + 1001);
    pool.fill();
    expect(await ask(64 << 20)).toBe(false);
    now.mockRestore();
    await pool.close();
  });

  it('holds no more than its memory, each counted with all that its runs may have', async () => {
    const pool = createWarmPool(ground, { places: 8, bytes: 3 * defaultLimits.mem_bytes - 1 });
    pool.fill();
    expect(await eventually(() => jobs().length === 2)).toBe(true);
    pool.fill();
    await pool.take(toolRun('', { limits: { ...defaultLimits, mem_bytes: 64 << 20 } }));
    pool.fill();
    // One default, one of the others, and no second default beside them.
    expect(await eventually(() => keepers().length === 3 && jobs().length === 3)).toBe(true);
    await pool.close();
  });

  it('uses none that lacks a layer, and starts no more of its class', async () => {
    let starts = 0;
    const command: Ground['command'] = (job) => {
      const whole = ground.command(job);
      if (job.limits.mem_bytes !== 64 << 20) return whole;
      starts += 1;
      return { ...whole, args: whole.args.map((word) => word.replace(/^--nofile=.*/, '--nofile=63')) };
    };
    const pool = createWarmPool({ ...ground, command }, { places: 2, bytes });
    for (const mem_bytes of [64 << 20, 64 << 20, 64 << 20, defaultLimits.mem_bytes]) {
      const warm = await pool.take(toolRun('', { limits: { ...defaultLimits, mem_bytes } }));
      expect(warm !== undefined).toBe(mem_bytes === defaultLimits.mem_bytes);
      await warm?.discard();
      pool.fill();
    }
    expect(starts).toBe(1);
    await pool.close();
  });

  it('gives a run what the kernel would be told for it', async () => {
    const limits = { wall_ms: 3500, mem_bytes: 64 << 20 };
    const pool = createWarmPool(ground, { places: 2, bytes });
    const run = toolRun('', { limits });
    await pool.take(run);
    pool.fill();
    const warm = await pool.take(run);
    const { pid = 0 } = processTree(warm?.launched.pid ?? 0).at(-1) ?? {};
    const told = readFileSync(`/proc/${pid}/limits`, 'latin1');
    const [data = '', cpu = ''] = processLimits(ground.node, limits);
    expect(/^Max data size +(\d+) +(\d+)/m.exec(told)?.slice(1)).toEqual(Array(2).fill(data.slice(7)));
    expect(/^Max cpu time +(\d+) +(\d+)/m.exec(told)?.slice(1)).toEqual(Array(2).fill(cpu.slice(6)));
    expect(readFileSync(`/proc/${pid}/cmdline`, 'latin1')).toContain('--max-old-space-size=32');
    await warm?.discard();
    await pool.close();
  });

  it('keeps no caller waiting that aborts', async () => {
    const silent = createWarmPool(
      { ...ground, command: () => ({ file: '/bin/sleep', args: ['60'] }) },
      { places: 1, bytes },
    );
    silent.fill();
    const stop = new AbortController();
    const taken = silent.take(toolRun('', { signal: stop.signal }));
    expect(await eventually(() => keepers().length === 1)).toBe(true);
    const aborted = performance.now();
    stop.abort();
    expect(await taken).toBeUndefined();
    expect(performance.now() - aborted).toBeLessThan(250);
    await silent.close();
  });
});

describe('one that was started ahead', () => {
  it('is not given the code when it died, and no other has it', async () => {
    const warm = await startWarm(ground);
    for (const { pid } of processTree(warm?.launched.pid ?? 0).slice(1)) process.kill(pid, 'SIGKILL');
    expect(await eventually(() => warm?.launched.isGone() === true)).toBe(true);
    expect(await warm?.prepare(toolRun(''))).toBe(false);
    await warm?.discard();
  });

  it('does not count when it says anything but its word', async () => {
    const command = () => ({ file: '/bin/sh', args: ['-c', 'echo ready; sleep 60'] });
    expect(await startWarm({ ...ground, command })).toBeUndefined();
  });

  it('is refused where it lacks a layer, and nothing is left of it', async () => {
    const command: Ground['command'] = (job) => {
      const { args, ...rest } = ground.command(job);
      return { ...rest, args: args.filter((word) => word !== '--net') };
    };
    await expect(startWarm({ ...ground, command })).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringContaining('it lacks its own net namespace'),
    });
  });

  it('is given up on a signal, also on one that came before', async () => {
    expect(await startWarm(ground, defaultClass, AbortSignal.abort())).toBeUndefined();
  });
});
