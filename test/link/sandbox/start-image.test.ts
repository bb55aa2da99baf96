import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBaseFolder } from '../../../src/link/sandbox/base-folder.ts';
import type { Command } from '../../../src/link/sandbox/command.ts';
import { inspectNode } from '../../../src/link/sandbox/node-binary.ts';
import { openAdjustedSandbox } from '../../../src/link/sandbox/open.ts';
import { layStartImage } from '../../../src/link/sandbox/start-image.ts';
import type { Sandbox, ToolRun } from '../../../src/link/sandbox/types.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';
import { backends, eventually, makeDirectory, toolRun } from './help.ts';

const say = (expression: string): string => `process.stdout.write(JSON.stringify(${expression}))`;
const fromImage = `process.execArgv.some((flag) => flag.startsWith('--snapshot-blob='))`;
const isFromImage = (command: Command): boolean => command.args.includes('--snapshot-blob=/rt/image');

async function value(sandbox: Sandbox, run: ToolRun): Promise<unknown> {
  const end = await sandbox.run(run);
  expect(end, JSON.stringify(end)).toMatchObject({ kind: 'exited', stderr: '' });
  return end.kind === 'exited' ? end.value : undefined;
}

describe.each(backends)('the start image of %s', (backend) => {
  let directory: Awaited<ReturnType<typeof makeDirectory>>;
  let sandbox: Sandbox;
  const before: unknown[] = [];
  let starts = 0;
  const count = (command: Command): Command => {
    if (isFromImage(command)) starts += 1;
    return command;
  };

  // What a tool sees of itself, of its input and of what is closed to it.
  const look = (head: string) => `${head}
    const closed = []; for (const [name, use] of Object.entries({
      eval: () => eval('1'), code: () => new Function('1'), vm: () => vm.runInThisContext('1'),
      flags: () => v8.setFlagsFromString('--no-opt'), trace: () => trace.createTracing({ categories: ['v8'] }),
      read: () => fs.readFileSync('/etc/passwd'), write: () => fs.writeFileSync('/in/x', ''),
      report: () => process.report.getReport(), kill: () => process.kill(1) })) {
      try { use(); } catch (error) { closed.push([name, error.message]); }
    }
    let text = ''; process.stdin.on('data', (data) => { text += data }).on('end', () =>
      ${say(`{ closed, text, argv: process.argv, env: process.env, names: Object.getOwnPropertyNames(globalThis).sort(),
        permission: process.permission.has('fs.write'), stack: new Error('here').stack, heap: v8.getHeapStatistics().heap_size_limit,
        random: Math.random() === Math.random(), up: process.uptime() < 5 && performance.now() < 5000 }`)});`;
  const looks = [
    `const fs = require('fs'), vm = require('vm'), v8 = require('v8'), trace = require('trace_events');`,
    `import fs from 'node:fs'; import vm from 'node:vm'; import v8 from 'node:v8'; import trace from 'node:trace_events';`,
  ].map((head) => toolRun(look(head), { input: { text: 'é' } }));

  beforeAll(async () => {
    directory = await makeDirectory();
    sandbox = await openAdjustedSandbox({ backend, directory: directory.path, warm: 0 }, count);
    const first = looks.map((run) => value(sandbox, run));
    expect(starts).toBe(0);
    before.push(...(await Promise.all(first)));
    expect(await eventually(() => starts === 1)).toBe(true);
  });
  afterAll(async () => {
    await sandbox.close();
    expect(readdirSync(directory.path)).toEqual([]);
    await directory[Symbol.asyncDispose]();
  });

  it('is used once a tool from it has answered, by tools of the default memory', async () => {
    const run = toolRun(say(fromImage));
    for (let tries = 0; tries < 50 && (await value(sandbox, run)) !== true; tries += 1);
    expect(await value(sandbox, run)).toBe(true);
    const limits = { ...defaultLimits, mem_bytes: defaultLimits.mem_bytes / 2 };
    expect(await value(sandbox, { ...run, limits })).toBe(false);
    expect(await value(sandbox, { ...run, limits: { ...defaultLimits, wall_ms: 20_000 } })).toBe(true);
  });

  it('changes nothing of what a tool sees and may', async () => {
    expect(await value(sandbox, toolRun(say(fromImage)))).toBe(true);
    expect(before).toMatchObject(looks.map(() => ({ permission: false, random: false, up: true })));
    expect((before as { closed: unknown[] }[]).map(({ closed }) => closed.length)).toEqual([9, 9]);
    expect(await Promise.all(looks.map((run) => value(sandbox, run)))).toEqual(before);
  });

  it('is not used where a tool from it does not answer', async () => {
    let tried = 0;
    const breaks = (command: Command): Command => {
      if (!isFromImage(command)) return command;
      tried += 1;
      return { ...command, file: '/bin/false' };
    };
    const options = { backend, directory: directory.path, warm: 0 };
    const other = await openAdjustedSandbox(options, breaks);
    expect(await value(other, toolRun(say(fromImage)))).toBe(false);
    expect(await eventually(() => tried === 1)).toBe(true);
    expect(await value(other, toolRun(say(fromImage)))).toBe(false);
    await other.close();
    expect(tried).toBe(1);
  });
});

describe('laying a start image', () => {
  it('leaves it read-only and alone, and nothing where it was given up or Node cannot make it', async () => {
    await using directory = await makeDirectory();
    const node = await inspectNode(process.execPath);
    const { signal } = new AbortController();
    const lay = async (stamp: string, path = node.path, given = signal) => {
      const base = await createBaseFolder(process.arch as 'x64' | 'arm64', directory.path);
      const made = await layStartImage({ ...node, path, stamp }, base, given).then(
        () => true,
        () => false,
      );
      expect(readdirSync(base.path).sort()).toEqual([
        'filter.bpf',
        'image.blob',
        'network-filter.bpf',
        'root',
        'rt',
      ]);
      expect(readdirSync(base.runtime).filter((name) => !name.endsWith('.cjs'))).toEqual(['image']);
      const image = statSync(join(base.runtime, 'image'));
      expect(image).toMatchObject({ mode: 0o100444, uid: process.getuid?.() });
      expect(image.size > 1_000_000).toBe(made);
      // What the sandbox's user may write is empty again, and nobody else may.
      expect(statSync(base.image)).toMatchObject({ mode: 0o100600, size: 0 });
      await base.remove();
      return made;
    };
    expect(await lay('other', node.path, AbortSignal.abort())).toBe(false);
    expect(await lay('other', '/bin/false')).toBe(false);
    expect(await lay('other')).toBe(true);
    // Made once for each binary.
    expect(await lay('other', '/bin/false')).toBe(true);
  });
});
