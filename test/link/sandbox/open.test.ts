import { chmodSync, copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Command } from '../../../src/link/sandbox/command.ts';
import { findProgram } from '../../../src/link/sandbox/host.ts';
import { openAdjustedSandbox, openSandbox } from '../../../src/link/sandbox/open.ts';
import type { SandboxOptions } from '../../../src/link/sandbox/options.ts';
import { utilLinuxPrograms } from '../../../src/link/sandbox/util-linux.ts';
import { backends, makeDirectory, toolRun } from './help.ts';

let directory: Awaited<ReturnType<typeof makeDirectory>>;
beforeEach(async () => {
  directory = await makeDirectory();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  expect(readdirSync(directory.path).filter((name) => name.startsWith('openvibe'))).toEqual([]);
  await directory[Symbol.asyncDispose]();
});

const open = (backend: 'bwrap' | 'util-linux', adjust: (command: Command) => Command) =>
  openAdjustedSandbox({ backend, directory: directory.path }, adjust).then((sandbox) => sandbox.close());

describe.each(backends)('the probe of %s', (backend) => {
  it('refuses one that is started ahead without a layer', async () => {
    const adjust = (command: Command): Command => {
      const ahead = command.args.includes('--require=/rt/warm.cjs');
      return ahead
        ? { ...command, args: command.args.map((word) => word.replace(/^--nofile=.*/, '--nofile=63')) }
        : command;
    };
    await expect(open(backend, adjust)).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringMatching(/it lacks the limit on open files/),
    });
  });

  it('refuses a sandbox that says nothing', async () => {
    await expect(open(backend, (command) => ({ ...command, file: '/bin/true' }))).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringContaining('Run: '),
    });
  });

  it('refuses a sandbox that is none', async () => {
    const bare = (): Command => ({
      file: process.execPath,
      args: [
        '-e',
        `process.stdin.on('data', () => console.log('{"read":false,"written":false,"seen":false,"reached":false}'))`,
      ],
    });
    await expect(open(backend, bare)).rejects.toMatchObject({ code: 'link_unavailable' });
  });

  it('refuses what cannot be started', async () => {
    await expect(open(backend, (command) => ({ ...command, file: '/no/such/file' }))).rejects.toMatchObject({
      code: 'link_unavailable',
    });
  });
});

describe('openSandbox', () => {
  it.each([
    ['backend', 'bubblewrap'],
    ['backend', 'Bwrap'],
    ['backend', ''],
    ['backend', null],
    ['node', ''],
    ['node', 20],
    ['warm', -1],
    ['warm', 9],
    ['warm', 0.5],
    ['warm', '1'],
  ])('takes no %s %j: it could stand for a weaker one', async (name, value) => {
    const opening = openSandbox({ [name]: value } as SandboxOptions);
    await expect(opening).rejects.toMatchObject({
      code: 'option_invalid',
      message: expect.stringMatching(new RegExp(`^${name}: `)),
    });
  });

  it('takes util-linux where bwrap is not on PATH', async () => {
    const folder = join(directory.path, 'bin');
    mkdirSync(folder);
    for (const name of utilLinuxPrograms) symlinkSync(findProgram(name) ?? '', join(folder, name));
    vi.stubEnv('PATH', folder);
    const sandbox = await openSandbox({ directory: directory.path });
    expect(sandbox.backend).toBe('util-linux');
    await sandbox.close();
    await expect(openSandbox({ backend: 'bwrap', directory: directory.path })).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringMatching(/.+ is not on PATH\. Run: sudo apt-get install/),
    });
  });

  it('takes util-linux where bwrap does not work', async () => {
    const folder = join(directory.path, 'bin');
    mkdirSync(folder);
    for (const name of utilLinuxPrograms) symlinkSync(findProgram(name) ?? '', join(folder, name));
    writeFileSync(
      join(folder, 'bwrap'),
      '#!/bin/sh\necho "bwrap: setting up uid map: Permission denied" >&2\nexit 1\n',
    );
    chmodSync(join(folder, 'bwrap'), 0o755);
    vi.stubEnv('PATH', folder);
    const sandbox = await openSandbox({ directory: directory.path });
    expect(sandbox.backend).toBe('util-linux');
    await sandbox.close();
    await expect(openSandbox({ backend: 'bwrap', directory: directory.path })).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringContaining('kernel refused'),
    });
  });

  it('takes no program from a relative entry of PATH', () => {
    vi.stubEnv('PATH', '.:bin:');
    expect(findProgram('sh')).toBeUndefined();
  });

  it('names the program that is missing, and the package', async () => {
    vi.stubEnv('PATH', directory.path);
    await expect(openSandbox({ directory: directory.path })).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringContaining('apt-get install util-linux'),
    });
  });

  it.each([
    ['platform', 'darwin', /Linux/],
    ['arch', 'riscv64', /x64 or arm64/],
  ] as const)('refuses another %s (%s)', async (name, value, message) => {
    vi.spyOn(process, name, 'get').mockReturnValue(value as never);
    await expect(openSandbox({ directory: directory.path })).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringMatching(message),
    });
  });

  it('refuses a Node that its user cannot run', async () => {
    const folder = join(directory.path, 'private');
    mkdirSync(folder, { mode: 0o700 });
    copyFileSync(process.execPath, join(folder, 'node'));
    chmodSync(join(folder, 'node'), process.getuid?.() === 0 ? 0o755 : 0o644);
    await expect(
      openSandbox({ node: join(folder, 'node'), directory: directory.path }),
    ).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringMatching(/cannot be run by the sandbox's user.*\/usr\/bin\/node/),
    });
  });

  it.each([
    ['is not there', undefined, /no Node binary/],
    ['is too old', '{"version":"18.20.4","data":"VmData:\\t 9 kB\\n","libraries":[]}', /too old/],
    ['is of an odd line', '{"version":"21.7.3","data":"VmData:\\t 9 kB\\n","libraries":[]}', /too old/],
    ['is not a Node', 'hello', /not a Node/],
  ])('refuses a Node that %s', async (_, says, message) => {
    const node = join(directory.path, 'node');
    if (says !== undefined) {
      writeFileSync(node, `#!/bin/sh\nprintf %s '${says}'\n`);
      chmodSync(node, 0o755);
    }
    await expect(openSandbox({ node, directory: directory.path })).rejects.toMatchObject({
      code: 'link_unavailable',
      message: expect.stringMatching(message),
    });
  });

  it('refuses a folder that others can change', async () => {
    const folder = join(directory.path, 'open');
    mkdirSync(folder);
    chmodSync(folder, 0o777);
    await expect(openSandbox({ directory: folder })).rejects.toMatchObject({ code: 'option_invalid' });
    await expect(openSandbox({ directory: join(folder, 'none') })).rejects.toMatchObject({
      code: 'option_invalid',
    });
    const within = join(folder, 'own');
    mkdirSync(within, { mode: 0o755 });
    await expect(openSandbox({ directory: within })).rejects.toMatchObject({ code: 'option_invalid' });
    chmodSync(folder, 0o1777);
    await (await openSandbox({ directory: folder })).close();
    await (await openSandbox({ directory: within })).close();
  });

  it('works in a folder with an odd name, under any umask', async () => {
    const folder = join(directory.path, 'a b\\040#é\u3000\u00a0');
    mkdirSync(folder, { mode: 0o755 });
    const umask = process.umask(0o077);
    try {
      for (const backend of backends) {
        const sandbox = await openSandbox({ backend, directory: folder });
        expect(await sandbox.run(toolRun('console.log(1)'))).toMatchObject({ kind: 'exited', value: 1 });
        await sandbox.close();
      }
    } finally {
      process.umask(umask);
    }
  });
});
