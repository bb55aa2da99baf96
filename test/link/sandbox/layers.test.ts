import { readdirSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Command } from '../../../src/link/sandbox/command.ts';
import type * as JobFolder from '../../../src/link/sandbox/job-folder.ts';
import type * as MemoryWatch from '../../../src/link/sandbox/memory-watch.ts';
import { openAdjustedSandbox } from '../../../src/link/sandbox/open.ts';
import type * as Output from '../../../src/link/sandbox/output.ts';
import type { RunEnd, Sandbox } from '../../../src/link/sandbox/types.ts';
import { type Canaries, setOutCanaries } from '../../attack/canaries.ts';
import { handedPrograms, hostileRun, ownPrograms, verdict } from '../../attack/hostile.ts';
import { backends, makeDirectory, processesWith, toolRun } from './help.ts';
import { layers } from './layers.ts';

// The layers that stand in this process and not in a command line.
const here = vi.hoisted(() => ({ memory: true, names: true, output: true }));
vi.mock('../../../src/link/sandbox/memory-watch.ts', async (original) => {
  const { watchMemory } = await original<typeof MemoryWatch>();
  const blind = {
    look: () => undefined,
    seen: () => ({ cpuMs: null, memPeakBytes: null }),
    stop: () => undefined,
  };
  return {
    watchMemory: (...args: Parameters<typeof watchMemory>) => (here.memory ? watchMemory(...args) : blind),
  };
});
vi.mock('../../../src/link/sandbox/job-folder.ts', async (original) => {
  const real = await original<typeof JobFolder>();
  const findRefusal: typeof real.findRefusal = (...args) =>
    here.names ? real.findRefusal(...args) : undefined;
  return { ...real, findRefusal };
});

vi.mock('../../../src/link/sandbox/output.ts', async (original) => {
  const real = await original<typeof Output>();
  const readOutput: typeof real.readOutput = (bytes) =>
    here.output ? real.readOutput(bytes) : { ok: true, value: Buffer.from(bytes).toString() };
  return { ...real, readOutput };
});

const programs = new Map([...handedPrograms, ...ownPrograms].map((program) => [program.id, program]));
const on = (command: Command): Command => command;

describe.each(backends)('the layers of %s', (backend) => {
  let directory: Awaited<ReturnType<typeof makeDirectory>>;
  let canaries: Canaries;
  let sandbox: Sandbox;
  // The probe has seen all layers; then one is taken from under it.
  let adjust = on;
  let before: string[];
  const files = () => readdirSync(directory.path, { recursive: true }).map(String).sort();

  beforeAll(async () => {
    directory = await makeDirectory();
    canaries = await setOutCanaries(directory.path);
    sandbox = await openAdjustedSandbox({ backend, directory: directory.path, warm: 0 }, (command) =>
      adjust(command),
    );
    before = files();
  });
  afterEach(() => {
    adjust = on;
    Object.assign(here, { memory: true, names: true, output: true });
    vi.restoreAllMocks();
  });
  afterAll(async () => {
    await sandbox?.close();
    await canaries?.close();
    await directory?.[Symbol.asyncDispose]();
  });

  /** Runs one program; what of the host it touched, told or left behind. */
  async function attackWith(id: string): Promise<{ end: RunEnd; harm: string[] }> {
    const program = programs.get(id);
    if (program === undefined) throw new Error(`There is no program ${id}.`);
    const run = hostileRun(program, canaries, 1500);
    const touched = canaries.touched().length;
    const end = await sandbox.run(run);
    const left = processesWith(`/in/${run.entry}`).map((pid) => `process ${pid}`);
    return {
      end,
      harm: [...canaries.touched().slice(touched), ...canaries.leaked(JSON.stringify(end)), ...left],
    };
  }
  async function expectHeld(ids: readonly string[]): Promise<void> {
    const ends = await Promise.all(ids.map(attackWith));
    expect(ends.filter(({ harm }) => harm.length > 0)).toEqual([]);
    expect(files()).toEqual(before);
  }
  const opening = (off: (command: Command) => Command) =>
    openAdjustedSandbox({ backend, directory: directory.path }, off).then((made) => made.close());

  describe.each(layers[backend])('without $name', ({ off, noticed, held, lost = [] }) => {
    it(
      noticed instanceof RegExp ? 'the probe refuses' : `the probe sees nothing: ${noticed.no}`,
      async () => {
        if (!(noticed instanceof RegExp)) return opening(off);
        await expect(opening(off)).rejects.toMatchObject({
          code: 'link_unavailable',
          message: expect.stringMatching(noticed),
        });
      },
    );

    it(`the others hold ${held.join(', ')}`, async () => {
      const changed: boolean[] = [];
      adjust = (command) => {
        const less = off(command);
        changed.push(JSON.stringify(less.args) !== JSON.stringify(command.args));
        return less;
      };
      await expectHeld(held);
      expect(new Set(changed)).toEqual(new Set([true]));
    });

    it.each(lost)('%s gets out', async (id) => {
      adjust = off;
      expect((await attackWith(id)).harm).not.toEqual([]);
    });
  });

  // Anybody else is an ordinary user already.
  if (process.getuid?.() === 0) {
    it('without the user nobody, the probe refuses and the others hold', async () => {
      vi.spyOn(process, 'getuid').mockReturnValue(1000);
      await expect(opening(on)).rejects.toMatchObject({
        message: expect.stringContaining('an ordinary user'),
      });
      await expectHeld(['shadow', 'passwd', 'write-tmp', 'id-user', 'id-modes', 'kill-low-pids']);
    });
  }

  it('without the memory watch, the probe refuses and the limit on data holds', async () => {
    here.memory = false;
    await expect(opening(on)).rejects.toMatchObject({
      message: expect.stringContaining('cannot be watched'),
    });
    await expectHeld(['mem-catch', 'mem-ab', 'heap-strings']);
  });

  // Not a matter of the machine, so the probe does not look: run.test.ts and output.test.ts hold both.
  it('without the wall timer, processor time is limited still, and a caller can end the run', async () => {
    const real = setTimeout;
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((...args: Parameters<typeof setTimeout>) =>
      (args[1] ?? 0) > 700 ? real(() => undefined, 0) : real(...args)) as typeof setTimeout);
    const limits = { wall_ms: 900, mem_bytes: 134_217_728 };
    // unshare answers 1 for a tool that the kernel killed.
    const spun = verdict(await sandbox.run(toolRun('for(;;);', { limits })));
    expect(backend === 'bwrap' ? ['limit:cpu'] : ['limit:cpu', 'failed']).toContain(spun);
    const signal = AbortSignal.timeout(1200);
    expect(verdict(await sandbox.run(toolRun('setInterval(()=>{},100)', { limits, signal })))).toBe(
      'cancelled',
    );
  });

  // Rules of the host's own code are none of the machine's, so the probe does not look. The pins are turned off in
  // real-sandbox.test.ts, the proxy's rules in network-layers.test.ts.
  it('without the rules of the output, bytes are bounded still, an exit code counts, and nothing else is told', async () => {
    const ids = ['out-prefix', 'out-nul', 'out-notjson', 'out-truncated'];
    const ends = async () => Promise.all(ids.map(async (id) => verdict((await attackWith(id)).end)));
    expect(await ends()).toEqual(ids.map(() => 'failed'));
    here.output = false;
    expect(await ends()).toEqual(ids.map(() => 'completed'));
    for (const [id, how] of [
      ['out-flood', 'limit:output'],
      ['out-async-flood', 'limit:output'],
      ['out-then-fail', 'failed'],
    ] as const) {
      expect(verdict((await attackWith(id)).end), id).toBe(how);
    }
    await expectHeld([...ids, 'env', 'passwd', 'hostname']);
  });

  it('without the check of names, no file lands outside the folder of its job', async () => {
    here.names = false;
    for (const id of ['name-file-dots', 'name-file-inner-dots']) {
      await expect(attackWith(id)).rejects.toMatchObject({ code: 'link_unavailable' });
    }
    await expectHeld(['name-file-absolute', 'name-json', 'name-package', 'name-addon']);
  });
});
