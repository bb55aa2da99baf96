import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomHex } from '../../../src/ids.ts';
import { findProgram, mapHasId, nobody } from '../../../src/link/sandbox/host.ts';
import { openSandbox } from '../../../src/link/sandbox/open.ts';
import { processTree, startTime } from '../../../src/link/sandbox/process-tree.ts';
import { backends, eventually, makeDirectory, processesWith } from './help.ts';

const source = (path: string): string => new URL(path, import.meta.url).pathname;
let built: Awaited<ReturnType<typeof makeDirectory>>;
let program: string;

beforeAll(async () => {
  built = await makeDirectory();
  program = join(built.path, 'host-program.js');
  await build({
    configFile: false,
    logLevel: 'silent',
    build: { ssr: source('./host-program.ts'), outDir: built.path, target: 'node20', minify: false },
  });
  for (const name of ['preload.cjs', 'network.cjs', 'warm.cjs', 'image.cjs']) {
    copyFileSync(source(`../../../src/link/sandbox/${name}`), join(built.path, name));
  }
});
afterAll(() => built[Symbol.asyncDispose]());

// Whoever inherits an orphan may take a while to notice its end.
function isZombie(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.startsWith('Z') === true;
  } catch {
    return true;
  }
}

describe.each(backends)('a host with the %s backend', (backend) => {
  it('that is killed leaves no process, and its folder to the next', async () => {
    await using directory = await makeDirectory();
    const entry = `orphan-${randomHex(8)}.js`;
    const host = spawn(process.execPath, [
      program,
      backend,
      directory.path,
      entry,
      'setInterval(() => {}, 1000)',
      '0',
    ]);
    expect(await eventually(() => processesWith(`/in/${entry}`).length >= 2)).toBe(true);
    host.kill('SIGKILL');
    await once(host, 'exit');
    expect(await eventually(() => processesWith(`/in/${entry}`).length === 0)).toBe(true);
    expect(readdirSync(directory.path)).toHaveLength(1);
    mkdirSync(join(directory.path, 'somebody-elses'));

    const sandbox = await openSandbox({ backend, directory: directory.path });
    const other = await openSandbox({ backend, directory: directory.path });
    expect(readdirSync(directory.path)).toHaveLength(3);
    await Promise.all([sandbox.close(), other.close()]);
    expect(readdirSync(directory.path)).toEqual(['somebody-elses']);
  });

  const nets = backend === 'bwrap' ? ['deny', 'public'] : ['deny'];
  it.each(nets)('that is killed in the middle of 20 jobs (net %s) leaves nothing that runs', async (net) => {
    await using directory = await makeDirectory();
    const hang = 'setInterval(() => {}, 1000)';
    const args = [program, backend, directory.path, 'main.js', hang, '1', '20', net];
    const host = spawn(process.execPath, args);
    const below = () => processTree(host.pid ?? 0).slice(1);
    // Some are at work, one of them warm where it may be; others are still being built.
    expect(await eventually(() => below().length > 24)).toBe(true);
    const born = below().map(({ pid }): [number, number | undefined] => [pid, startTime(pid)]);
    host.kill('SIGKILL');
    await once(host, 'exit');
    const left = () => born.filter(([pid, start]) => start !== undefined && startTime(pid) === start);
    expect(await eventually(() => left().every(([pid]) => isZombie(pid)))).toBe(true);
    expect(await eventually(() => processesWith(directory.path).length === 0)).toBe(true);

    // The folders of 20 jobs, and their way out where they had one.
    expect(readdirSync(directory.path, { recursive: true }).length).toBeGreaterThan(40);
    await (await openSandbox({ backend, directory: directory.path })).close();
    expect(readdirSync(directory.path)).toEqual([]);
  });

  it('that ends without closing leaves nothing that runs, and is not kept by what it started ahead', async () => {
    await using directory = await makeDirectory();
    const args = [program, backend, directory.path, 'main.js', '', '2', '0'];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 10_000 });
    expect(stdout).toBe('null');
    expect(await eventually(() => processesWith(directory.path).length === 0)).toBe(true);
  });

  it.each([
    ['built for its job', '0'],
    ['started ahead', '1'],
  ])('passes none of the descriptors on that it was itself started with (%s)', async (_, warm) => {
    await using directory = await makeDirectory();
    const secret = join(directory.path, 'secret');
    writeFileSync(secret, 'a secret of the host');
    const descriptor = openSync(secret, 'r+');
    const left = [3, 4, 17, 40, 63, 64, 250];
    const stdio = Array.from({ length: 251 }, (_, at) =>
      left.includes(at) ? descriptor : ('ignore' as const),
    );
    const look = `const fs = require('fs'); const seen = [];
      for (let at = 3; at < 300; at += 1) {
        try { seen.push([at, fs.readSync(at, Buffer.alloc(64), 0, 64, 0)]); } catch {}
        try { fs.writeSync(at, 'mine now', 0); } catch {}
      }
      process.stdout.write(JSON.stringify(seen.filter(([, bytes]) => bytes > 0)));`;
    const host = spawn(process.execPath, [program, backend, directory.path, 'main.js', look, warm], {
      stdio: ['ignore', 'pipe', 'inherit', ...stdio.slice(3)],
    });
    closeSync(descriptor);
    expect(JSON.parse(await text(host.stdout as Readable))).toMatchObject({ kind: 'exited', value: [] });
    expect(readFileSync(secret, 'utf8')).toBe('a secret of the host');
  });

  it.each(nets)('needs no privilege (net %s)', async (net) => {
    await using directory = await makeDirectory();
    const command = [
      process.execPath,
      program,
      backend,
      directory.path,
      'main.js',
      'console.log(process.getuid())',
      ...['1', '1', net],
    ];
    if (process.getuid?.() === 0) {
      chownSync(directory.path, 54_321, 54_321);
      chmodSync(directory.path, 0o700);
      command.unshift('setpriv', '--reuid', '54321', '--regid', '54321', '--clear-groups', '--');
    }
    const [file = '', ...args] = command;
    const { stdout } = await promisify(execFile)(file, args, { cwd: '/' });
    expect(JSON.parse(stdout)).toMatchObject({ kind: 'exited', value: 65_534, stderr: '' });
    expect(readdirSync(directory.path)).toEqual([]);
  });
});

// As in Docker: every process is under a filter already, and that must not pass for the sandbox's own.
describe.each(backends.filter((backend) => backend === 'bwrap'))('a host under a filter', (backend) => {
  const ours = findProgram('bwrap') ?? '';
  const less = `#!/bin/sh
for word; do shift; case "$word" in --seccomp|3) ;; *) set -- "$@" "$word";; esac; done
exec ${ours} "$@"
`;
  it.each([
    ['takes a bwrap that adds its own', `#!/bin/sh\nexec ${ours} "$@"\n`, /"value":1/],
    ['refuses one that adds none', less, /it lacks the seccomp filter/],
  ])('%s', async (_, script, said) => {
    await using directory = await makeDirectory();
    await using programs = await makeDirectory();
    writeFileSync(join(programs.path, 'bwrap'), script, { mode: 0o755 });
    const allowAll = join(programs.path, 'allow-all.bpf');
    writeFileSync(allowAll, Buffer.from([6, 0, 0, 0, 0, 0, 0xff, 0x7f]));
    const filter = openSync(allowAll, 'r');
    const root = process.getuid?.() === 0 ? ['--cap-add', 'ALL'] : [];
    const host = [process.execPath, program, backend, directory.path, 'main.js', 'console.log(1)', '0'];
    const words = [
      '--bind',
      '/',
      '/',
      '--dev-bind',
      '/dev',
      '/dev',
      ...root,
      '--seccomp',
      '3',
      '--',
      ...host,
    ];
    const child = spawn(ours, words, {
      stdio: ['ignore', 'pipe', 'pipe', filter],
      env: { ...process.env, PATH: `${programs.path}:${process.env.PATH}` },
    });
    const told = await Promise.all([text(child.stdout as Readable), text(child.stderr as Readable)]);
    closeSync(filter);
    expect(told.join('')).toMatch(said);
  });
});

describe('root of a user namespace', () => {
  it.each([
    ['the machine itself', '         0          0 4294967295', true],
    ['a container with a range of ids', '0 100000 65536', true],
    ['a namespace of one user', '         0       1000          1', false],
    ['two ranges, the second of which has nobody', '0 1000 1\n65000 100000 1000', true],
    ['no map at all', '', false],
  ])('%s', (_, map, has) => {
    expect(mapHasId(map, nobody)).toBe(has);
  });
});
