import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { internet } from '../../../src/link/egress/outside.ts';
import type { Command } from '../../../src/link/sandbox/command.ts';
import { openAdjustedSandbox, openSandbox } from '../../../src/link/sandbox/open.ts';
import { childrenOf, processTree } from '../../../src/link/sandbox/process-tree.ts';
import type { Sandbox, ToolRun } from '../../../src/link/sandbox/types.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';
import { atOnce, backends, eventually, makeDirectory, openDescriptors, toolRun } from './help.ts';

const files = (tree: Record<string, string>) =>
  Object.entries(tree).map(([path, code]) => ({ path, bytes: Buffer.from(code) }));
const say = (expression: string): string => `process.stdout.write(JSON.stringify(${expression}))`;
const isWarm = `process.execArgv.includes('--require=/rt/warm.cjs')`;
const isAhead = (command: Command): boolean => command.args.includes('--require=/rt/warm.cjs');

describe.each(backends)('a sandbox of %s that was started ahead', (backend) => {
  let directory: Awaited<ReturnType<typeof makeDirectory>>;
  let warm: Sandbox;
  let cold: Sandbox;
  beforeAll(async () => {
    directory = await makeDirectory();
    const options = { backend, directory: directory.path, warm: 1 };
    [warm, cold] = await Promise.all([
      openAdjustedSandbox(options, (command) => command, internet, atOnce),
      openSandbox({ ...options, warm: 0 }),
    ]);
  });
  afterAll(async () => {
    await Promise.all([warm.close(), cold.close()]);
    expect(readdirSync(directory.path)).toEqual([]);
    expect(childrenOf(process.pid)).toEqual([]);
    await directory[Symbol.asyncDispose]();
  });

  const value = async (sandbox: Sandbox, run: ToolRun): Promise<unknown> => {
    const end = await sandbox.run(run);
    expect(end, JSON.stringify(end)).toMatchObject({ kind: 'exited', stderr: '' });
    return end.kind === 'exited' ? end.value : undefined;
  };

  it('takes the next job, and each job another one', async () => {
    expect(await value(warm, toolRun(say(isWarm)))).toBe(true);
    expect(await value(warm, toolRun(say(isWarm)))).toBe(true);
    expect(await value(cold, toolRun(say(isWarm)))).toBe(false);
  });

  it.each([
    [
      'a script',
      `exports.word = 'hi'`,
      `const { word } = require('../lib/text.js'); const self = [__filename, __dirname, require.main === module, process.mainModule === module, module.id, module.paths.length, typeof require.resolve, require('module').runMain.name];`,
    ],
    [
      'a module',
      `export const word = 'hi'`,
      `import { word } from '../lib/text.js'; const self = [import.meta.url, await import('../lib/text.js').then((one) => one.word), typeof require];`,
    ],
  ])('shows %s what any other shows it', async (_, text, head) => {
    const shown = `{ word, self, input, argv: process.argv, cwd: process.cwd(), env: process.env }`;
    const main = `${head} let input = '';
      process.stdin.on('data', (data) => { input += data }).on('end', () => ${say(shown)});`;
    const run = toolRun('', {
      files: files({ 'tools/run.js': main, 'lib/text.js': text }),
      entry: 'tools/run.js',
      input: { text: 'é\n', list: [1, null] },
    });
    const seen = await value(warm, run);
    expect(seen).toMatchObject({
      word: 'hi',
      input: JSON.stringify(run.input),
      argv: ['/bin/node', '/in/tools/run.js'],
      env: {},
    });
    expect(seen).toEqual(await value(cold, run));
  });

  it('runs an input of 64 KiB, an error and an exit code as any other', async () => {
    const input = { text: 'a'.repeat(65_000) };
    const length = `let n = 0; process.stdin.on('data', (data) => { n += data.length }).on('end', () => ${say('n')})`;
    expect(await value(warm, toolRun(length, { input }))).toBe(JSON.stringify(input).length);
    expect(await warm.run(toolRun('process.exit(3)'))).toMatchObject({ kind: 'failed', exitCode: 3 });
    const [thrown, other] = await Promise.all(
      [warm, cold].map((sandbox) => sandbox.run(toolRun('throw new Error("boom")'))),
    );
    expect(thrown).toMatchObject({
      kind: 'failed',
      exitCode: 1,
      stderr: expect.stringContaining('/in/main.js:1'),
    });
    expect(thrown?.stderr).toBe(other?.stderr);
    expect(await warm.run(toolRun(say(`'a'.repeat(70000)`)))).toMatchObject({
      kind: 'limit',
      limit: 'output',
    });
  });

  it('has nothing of the job before: no file, variable, descriptor or memory', async () => {
    const mark = 'MARK-OF-THE-JOB-BEFORE';
    const first = `globalThis.kept = ${JSON.stringify(mark)}; process.env.KEPT = globalThis.kept;
      process.stdin.on('data', () => {}).on('end', () => ${say('globalThis.kept')})`;
    expect(await value(warm, toolRun(first, { entry: 'before.js', input: { mark } }))).toBe(mark);
    const second = `const fs = require('fs'), v8 = require('v8'), mark = ['MARK', 'OF', 'THE', 'JOB', 'BEFORE'].join('-');
      const open = ${openDescriptors};
      let heap = ''; v8.getHeapSnapshot().on('data', (data) => { heap += data }).on('end', () =>
        ${say(`{ warm: ${isWarm}, files: fs.readdirSync('/in'), env: process.env, open, kept: typeof kept,
          own: heap.includes('MINE-AND-HERE'), found: heap.split(mark).length - 1 }`)});
      globalThis.mine = 'MINE-AND-HERE'; globalThis.also = mark`;
    const seen = await value(warm, toolRun(second));
    // Its own copy of the mark is the one that is found: the look would see another.
    expect(seen).toMatchObject({
      warm: true,
      files: ['main.js'],
      env: {},
      kept: 'undefined',
      own: true,
      found: 1,
    });
    expect({ ...(seen as object), warm: false }).toEqual(await value(cold, toolRun(second)));
  });

  it('takes tools of the default limits only, where there is place for one', async () => {
    for (const limits of [
      { ...defaultLimits, mem_bytes: defaultLimits.mem_bytes - 1 },
      { ...defaultLimits, mem_bytes: defaultLimits.mem_bytes + 1 },
      { ...defaultLimits, wall_ms: 9000 },
      { ...defaultLimits, wall_ms: 10_001 },
    ]) {
      expect(await value(warm, toolRun(say(isWarm), { limits }))).toBe(false);
    }
    expect(await value(warm, toolRun(say(isWarm), { limits: { ...defaultLimits, wall_ms: 9001 } }))).toBe(
      true,
    );
  });

  it('says what was used, however short the run was, and not what its start took', async () => {
    const { usage } = await warm.run(toolRun(say('1')));
    expect(usage.wallMs).toBeGreaterThan(0);
    expect(usage.cpuMs).toBeLessThanOrEqual(usage.wallMs * 4 + 20);
    expect(usage.memPeakBytes).toBeGreaterThan(4 << 20);
    const spins = `const a = Buffer.alloc(40 << 20, 1); ${say('a.length')}; const t = Date.now(); while (Date.now() - t < 20);`;
    const { usage: more } = await warm.run(toolRun(spins));
    expect(more.memPeakBytes).toBeGreaterThan(40 << 20);
    expect(more.memPeakBytes).toBeLessThan(defaultLimits.mem_bytes);
  });

  it('refuses what any other refuses, and runs the next job all the same', async () => {
    // A tool with a network never gets one that was started for tools without.
    const other = await warm.run(toolRun(say(isWarm), { net: 'public' }));
    expect(other).toMatchObject(backend === 'bwrap' ? { kind: 'exited', value: false } : { kind: 'refused' });
    expect(await warm.run(toolRun('', { entry: 'none.js', files: files({ 'main.js': '' }) }))).toMatchObject({
      kind: 'refused',
    });
    expect(await warm.run(toolRun('', { signal: AbortSignal.abort() }))).toMatchObject({ kind: 'cancelled' });
    expect(await value(warm, toolRun(say(isWarm)))).toBe(true);
  });

  it('that was killed while it waited costs its job nothing', async () => {
    expect(await value(warm, toolRun(say(isWarm)))).toBe(true);
    expect(await eventually(() => childrenOf(process.pid).length === 1)).toBe(true);
    // From the inside out, as a keeper that is killed while it builds would leave the rest to itself.
    for (const { pid } of processTree(process.pid).slice(1).reverse()) process.kill(pid, 'SIGKILL');
    expect(await value(warm, toolRun(say('1')))).toBe(1);
  });

  it('that does not come up is not waited for twice', async () => {
    let broken = true;
    let starts = 0;
    const adjust = (command: Command): Command => {
      if (!isAhead(command)) return command;
      starts += 1;
      return broken ? { ...command, file: '/bin/true' } : command;
    };
    const options = { backend, directory: directory.path, warm: 1 };
    const never = await openAdjustedSandbox(options, adjust, internet, atOnce);
    expect(await value(never, toolRun(say(isWarm)))).toBe(false);
    await never.close();

    broken = false;
    starts = 0;
    const later = await openAdjustedSandbox(options, adjust, internet, atOnce);
    expect(await eventually(() => starts === 2)).toBe(true);
    broken = true;
    expect(await value(later, toolRun(say(isWarm)))).toBe(true);
    expect(await value(later, toolRun(say(isWarm)))).toBe(false);
    broken = false;
    await value(later, toolRun(say(isWarm)));
    expect(await value(later, toolRun(say(isWarm)))).toBe(true);
    await later.close();
  });
});
