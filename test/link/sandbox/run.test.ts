import { spawn } from 'node:child_process';
import { readdirSync, readlinkSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSandbox } from '../../../src/link/sandbox/open.ts';
import type { Sandbox } from '../../../src/link/sandbox/types.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';
import { backends, eventually, makeDirectory, openDescriptors, processesWith, toolRun } from './help.ts';

const hang = 'setInterval(() => {}, 1000)';
const say = (expression: string): string => `process.stdout.write(JSON.stringify(${expression}))`;
const files = (tree: Record<string, string>) =>
  Object.entries(tree).map(([path, code]) => ({ path, bytes: Buffer.from(code) }));

describe.each(backends)('a run on %s', (backend) => {
  let directory: Awaited<ReturnType<typeof makeDirectory>>;
  let sandbox: Sandbox;
  beforeAll(async () => {
    directory = await makeDirectory();
    // Cold: a run is found by its entry on the command line.
    sandbox = await openSandbox({ backend, directory: directory.path, warm: 0 });
  });
  afterAll(async () => {
    await sandbox.close();
    expect(readdirSync(directory.path)).toEqual([]);
    await directory[Symbol.asyncDispose]();
  });

  it('says what it is', () => {
    expect(sandbox).toMatchObject({
      backend,
      nets: backend === 'bwrap' ? ['deny', 'openvibe-only', 'public'] : ['deny'],
      seccomp: backend === 'bwrap' ? 'on' : 'absent',
    });
  });

  it('gives the input on stdin, and takes the value from stdout and the text from stderr', async () => {
    const code = `let s = ''; process.stdin.on('data', (d) => { s += d }).on('end', () => {
      process.stderr.write('\\x1b[31mnote\\n'); ${say('{ got: JSON.parse(s), argv: process.argv }')} })`;
    const input = { text: 'é "\n', list: [1, null] };
    const end = await sandbox.run(toolRun(code, { input }));
    expect(end).toMatchObject({
      kind: 'exited',
      value: { got: input, argv: ['/bin/node', '/in/main.js'] },
      stderr: '\\u{1b}[31mnote\n',
    });
  });

  it('fills in what was used', async () => {
    const { usage } = await sandbox.run(
      toolRun(
        `const a = Buffer.alloc(40 << 20, 1); const t = Date.now(); while (Date.now() - t < 300); ${say('a.length')}`,
      ),
    );
    expect(usage.wallMs).toBeGreaterThanOrEqual(300);
    expect(usage.cpuMs).toBeGreaterThanOrEqual(100);
    expect(usage.memPeakBytes).toBeGreaterThan(40 << 20);
    expect(usage.memPeakBytes).toBeLessThan(defaultLimits.mem_bytes);
  });

  it.each([
    ['CommonJS', `const t = require('./lib/text.js'); ${say('t.word')}`, `exports.word = 'hi'`],
    ['an ES module', `import { word } from './lib/text.js'; ${say('word')}`, `export const word = 'hi'`],
    [
      'an ES module that loads CommonJS',
      `import t from './lib/text.js'; ${say('t.word')}`,
      `exports.word = 'hi'`,
    ],
    [
      'CommonJS that loads an ES module',
      `const t = require('./lib/text.js'); ${say('t.word')}`,
      `export const word = 'hi'`,
    ],
  ])('restores the tree for %s', async (_, main, text) => {
    const end = await sandbox.run(toolRun('', { files: files({ 'main.js': main, 'lib/text.js': text }) }));
    expect(end).toMatchObject({ kind: 'exited', value: 'hi', stderr: '' });
  });

  it('runs an entry that is not at the top', async () => {
    const tree = files({ 'tools/run.js': `${say(`require('../lib.js')`)}`, 'lib.js': 'module.exports = 7' });
    expect(await sandbox.run(toolRun('', { files: tree, entry: 'tools/run.js' }))).toMatchObject({
      value: 7,
    });
  });

  it('shows only code: no data beside it, no package that changes its kind', async () => {
    const tree = files({
      'main.js': say(`require('fs').readdirSync('/in')`),
      'package.json': '{"type":"module"}',
      'notes.txt': 'exports.x = 1',
    });
    expect(await sandbox.run(toolRun('', { files: tree }))).toMatchObject({ value: ['main.js'] });
  });

  it('has nothing of the host in it', async () => {
    const code = `const fs = require('fs'), os = require('os');
      const list = (p) => { try { return fs.readdirSync(p) } catch { return null } };
      ${say(`{ env: process.env, uid: process.getuid(), gid: process.getgid(), groups: process.getgroups(),
        host: os.hostname(), cwd: process.cwd(), open: list('/proc/self/fd'), etc: list('/etc'), dev: list('/dev') }`)}`;
    const { value } = (await sandbox.run(toolRun(code))) as { value: Record<string, unknown> };
    expect(value).toEqual({
      env: {},
      uid: 65_534,
      gid: 65_534,
      groups: expect.toSatisfy((groups: number[]) => groups.every((group) => group === 65_534)),
      host: 'sandbox',
      cwd: '/in',
      open: null,
      etc: null,
      dev: null,
    });
  });

  it('leaks no descriptor: it has those of a plain Node that was started with three pipes', async () => {
    const code = say(openDescriptors);
    const child = spawn(process.execPath, ['-e', code], { stdio: ['pipe', 'pipe', 'inherit'], env: {} });
    child.stdin.end();
    const plain = JSON.parse(await text(child.stdout)) as [number, string][];
    // Node keeps one in reserve: of /dev/null, and of its root, here read-only, where there is no such file.
    const value = plain.map(([fd, kind]) => [fd, kind === '20000' ? '40000' : kind]);
    expect(await sandbox.run(toolRun(code))).toMatchObject({ kind: 'exited', value });
  });

  it('takes 64 KiB of output, and not a byte more', async () => {
    const output = (bytes: number) => sandbox.run(toolRun(say(`'a'.repeat(${bytes - 2})`)));
    expect(await output(65_536)).toMatchObject({ kind: 'exited' });
    expect(await output(65_537)).toMatchObject({ kind: 'limit', limit: 'output' });
  });

  it('keeps 16 KiB of stderr of a tool that goes on', async () => {
    const end = await sandbox.run(toolRun(`process.stderr.write('e'.repeat(200000)); ${say('1')}`));
    expect(end).toMatchObject({ kind: 'exited', value: 1, stderr: 'e'.repeat(16_384) });
  });

  it('ends at the wall, without a late answer', async () => {
    const limits = { ...defaultLimits, wall_ms: 400 };
    const end = await sandbox.run(toolRun(`${say('1')}; ${hang}`, { limits }));
    expect(end).toMatchObject({ kind: 'limit', limit: 'wall', stderr: '' });
    expect(end.usage.wallMs).toBeGreaterThanOrEqual(399);
    expect(end.usage.wallMs).toBeLessThan(900);
  });

  it('holds a tool to less memory than the default', async () => {
    const limits = { ...defaultLimits, mem_bytes: 50_000_000 };
    const run = (size: number) =>
      sandbox.run(
        toolRun(`const a = Buffer.alloc(${size}, 1); setTimeout(() => ${say('a.length')}, 100)`, { limits }),
      );
    expect(await run(20_000_000)).toMatchObject({ kind: 'exited' });
    const end = await run(60_000_000);
    expect(end).toMatchObject({ kind: 'limit', limit: 'memory' });
    expect(end.usage.memPeakBytes).toBeGreaterThan(50_000_000);
  });

  it.each([
    ['an exit code', `${say('1')}; process.exitCode = 3`, 3],
    ['an exception', `throw new Error('boom')`, 1],
    ['a rejection', `Promise.reject(new Error('boom'))`, 1],
    ['no output', '', 0],
    ['two values', `${say('1')}; console.log('2 3')`, 0],
  ])('fails on %s', async (_, code, exitCode) => {
    expect(await sandbox.run(toolRun(code))).toMatchObject({ kind: 'failed', exitCode });
  });

  // A tool's own end is cut short where nobody listens to it: nothing that a tool may still do is.
  it.each([
    ['a last word at the exit', `process.on('exit', () => ${say("'late'")})`, { value: 'late' }],
    [
      'a listener that stood up only then',
      `process.on('beforeExit', () => process.on('exit', () => ${say("'late'")}))`,
      { value: 'late' },
    ],
    [
      'more work when there was none left',
      `let n = 0; process.on('beforeExit', () => { n += 1; if (n < 3) setTimeout(() => {}, 5); else if (n === 3) {
        setImmediate(() => { process.on('exit', () => ${say('n')}); }) } })`,
      { value: 4 },
    ],
    [
      'an exit code of the last moment',
      `process.on('exit', () => { process.exitCode = 4 })`,
      { exitCode: 4 },
    ],
    [
      'an error of the last moment',
      `process.on('exit', () => { throw new Error('at the end') })`,
      { exitCode: 1, stderr: expect.stringContaining('at the end') },
    ],
    ['a tool that waits for ever', 'await new Promise(() => {})', { exitCode: 13 }],
    [
      'a tool that took the way out',
      `process.exit = process.reallyExit = () => {}; process.listeners = () => { throw 1 }; ${say('1')}`,
      { kind: /exited|failed/ },
    ],
    [
      'all that it wrote',
      `process.stderr.write('e'.repeat(200000)); ${say("'a'.repeat(65000)")}`,
      { value: 'a'.repeat(65_000), stderr: 'e'.repeat(16_384) },
    ],
  ])('lets a tool come to its end: %s', async (_, code, expected) => {
    const { kind, ...others } = expected as { kind?: RegExp };
    const end = await sandbox.run(toolRun(code));
    expect(end).toMatchObject(others);
    if (kind !== undefined) expect(end.kind).toMatch(kind);
  });

  it('refuses before anything runs', async () => {
    let started = false;
    const onStart = () => {
      started = true;
    };
    const run = toolRun('', { entry: 'other.js', files: files({ 'main.js': '' }), onStart });
    expect(await sandbox.run(run)).toMatchObject({ kind: 'refused', stderr: '', targets: [] });
    expect(started).toBe(false);
  });

  it('is cancelled within 250 ms, at any moment', async () => {
    for (const wait of [0, 15, 40, 200]) {
      const entry = `cancel-${wait}.js`;
      const stop = new AbortController();
      let aborted = 0;
      const end = await sandbox.run(
        toolRun(`for (;;) process.stderr.write('')`, {
          entry,
          signal: stop.signal,
          onStart: () =>
            void setTimeout(() => {
              aborted = performance.now();
              stop.abort();
            }, wait),
        }),
      );
      expect(end.kind).toBe('cancelled');
      expect(performance.now() - aborted).toBeLessThan(250);
      expect(processesWith(`/in/${entry}`)).toEqual([]);
    }
  });

  it('starts nothing for a caller that had aborted', async () => {
    let started = false;
    const onStart = () => {
      started = true;
    };
    const end = await sandbox.run(toolRun(say('1'), { signal: AbortSignal.abort(), onStart }));
    expect(end.kind).toBe('cancelled');
    expect(started).toBe(false);
  });

  it('ends a run whose host callback throws, with nothing left', async () => {
    const onStart = () => {
      throw new Error('the host');
    };
    await expect(sandbox.run(toolRun(hang, { entry: 'callback.js', onStart }))).rejects.toThrow('the host');
    expect(processesWith('/in/callback.js')).toEqual([]);
  });

  it('keeps two runs apart', async () => {
    const limits = { ...defaultLimits, wall_ms: 1500 };
    const code = `process.stderr.write(require('fs').readdirSync('/in').join()); ${hang}`;
    const runs = ['first.js', 'second.js'].map((entry) => sandbox.run(toolRun(code, { entry, limits })));
    const tools = () =>
      ['first', 'second'].map((name) => processesWith(`/in/${name}.js`).find(isInOwnNamespace));
    expect(await eventually(() => tools().every((pid) => pid !== undefined))).toBe(true);
    const [first, second] = tools();
    for (const name of ['pid', 'mnt', 'net', 'ipc', 'uts', 'user']) {
      expect(readlinkSync(`/proc/${first}/ns/${name}`)).not.toBe(readlinkSync(`/proc/${second}/ns/${name}`));
    }
    expect((await Promise.all(runs)).map((end) => end.stderr)).toEqual(['first.js', 'second.js']);
  });
});

function isInOwnNamespace(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) !== readlinkSync('/proc/self/ns/pid');
  } catch {
    return false;
  }
}

it('cancels what runs when it is closed, and runs nothing after', async () => {
  await using directory = await makeDirectory();
  const sandbox = await openSandbox({ directory: directory.path, warm: 0 });
  const end = sandbox.run(toolRun(hang, { entry: 'closing.js' }));
  await eventually(() => processesWith('/in/closing.js').length > 0);
  await sandbox.close();
  expect((await end).kind).toBe('cancelled');
  expect(processesWith('/in/closing.js')).toEqual([]);
  expect(readdirSync(directory.path)).toEqual([]);
  await expect(sandbox.run(toolRun('1'))).rejects.toMatchObject({ code: 'closed' });
});
