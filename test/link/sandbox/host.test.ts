import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomHex } from '../../../src/ids.ts';
import { mapHasId, nobody } from '../../../src/link/sandbox/host.ts';
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

  it('that is killed in the middle of 20 jobs, one of them warm, leaves nothing that runs', async () => {
    await using directory = await makeDirectory();
    const hang = 'setInterval(() => {}, 1000)';
    const host = spawn(process.execPath, [program, backend, directory.path, 'main.js', hang, '1', '20']);
    const below = () => processTree(host.pid ?? 0).slice(1);
    // Some are at work, others are still being built.
    expect(await eventually(() => below().length > 24)).toBe(true);
    const born = below().map(({ pid }): [number, number | undefined] => [pid, startTime(pid)]);
    host.kill('SIGKILL');
    await once(host, 'exit');
    const left = () => born.filter(([pid, start]) => start !== undefined && startTime(pid) === start);
    expect(await eventually(() => left().every(([pid]) => isZombie(pid)))).toBe(true);
    expect(await eventually(() => processesWith(directory.path).length === 0)).toBe(true);

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

  it('needs no privilege', async () => {
    await using directory = await makeDirectory();
    const command = [
      process.execPath,
      program,
      backend,
      directory.path,
      'main.js',
      'console.log(process.getuid())',
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
