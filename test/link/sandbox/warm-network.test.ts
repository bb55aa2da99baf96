import { closeSync, openSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBaseFolder } from '../../../src/link/sandbox/base-folder.ts';
import { bwrapCommand } from '../../../src/link/sandbox/bwrap.ts';
import type { Ground } from '../../../src/link/sandbox/ground.ts';
import { findProgram } from '../../../src/link/sandbox/host.ts';
import { inspectNode } from '../../../src/link/sandbox/node-binary.ts';
import { openAdjustedSandbox } from '../../../src/link/sandbox/open.ts';
import { childrenOf } from '../../../src/link/sandbox/process-tree.ts';
import type { RunEnd, Sandbox } from '../../../src/link/sandbox/types.ts';
import { startWarm } from '../../../src/link/sandbox/warm.ts';
import { warmClass } from '../../../src/link/sandbox/warm-class.ts';
import { defaultLimits, type Net, nets } from '../../../src/skill/caps.ts';
import { buildWorld, somewhere, type World } from '../egress/world.ts';
import { atOnce, backends, makeDirectory, toolRun } from './help.ts';

const asks = (name: string): string => `
const warm = process.execArgv.includes('--require=/rt/warm.cjs');
const answer = (said) => process.stdout.write(JSON.stringify({ warm, said }));
fetch('http://${name}/').then(async (response) => answer(await response.text()), (error) => answer(error.cause.code));`;

// Without the other's filter no tool has a network.
describe.each(backends.filter((backend) => backend === 'bwrap'))('a sandbox of %s with a network', () => {
  let directory: Awaited<ReturnType<typeof makeDirectory>>;
  let world: World;
  let sandbox: Sandbox;
  beforeAll(async () => {
    directory = await makeDirectory();
    world = await buildWorld((_request, response) => response.end('hello'));
    for (const name of ['site.example.com', 'a.example.org', 'api.openvibe.run']) {
      world.names.set(name, [[somewhere]]);
    }
    const options = { backend: 'bwrap', directory: directory.path, warm: 3 } as const;
    sandbox = await openAdjustedSandbox(options, (command) => command, world.outside, atOnce);
  });
  afterAll(async () => {
    await sandbox.close();
    expect(readdirSync(directory.path)).toEqual([]);
    expect(childrenOf(process.pid)).toEqual([]);
    await world[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  const run = (net: Net, name: string): Promise<RunEnd> => sandbox.run(toolRun(asks(name), { net }));

  it('is kept warm for each net that was asked for, and leads each job where its own net allows', async () => {
    const told = (host: string, allowed: boolean) => ({ stderr: '', targets: [{ host, port: 80, allowed }] });
    for (const warm of [false, true]) {
      expect(await run('public', 'site.example.com')).toMatchObject({
        value: { warm, said: 'hello' },
        ...told('site.example.com', true),
      });
      expect(await run('openvibe-only', 'api.openvibe.run')).toMatchObject({
        value: { warm, said: 'hello' },
        ...told('api.openvibe.run', true),
      });
    }
    // The job before was let through to another.
    expect(await run('openvibe-only', 'site.example.com')).toMatchObject({
      value: { warm: true, said: 'ERR_ACCESS_DENIED' },
      ...told('site.example.com', false),
    });
    const end = await run('public', 'a.example.org');
    expect(end).toMatchObject({ value: { warm: true }, ...told('a.example.org', true) });
    expect(end.targets).toHaveLength(1);
  });

  it('is held as one that is built for its job', async () => {
    const seen = `const fs = require('fs'); const { memoryUsage, argv, env, execArgv } = process;
      const tries = { tcp: ['93.184.215.14', 443], bus: ['/run/dbus/system_bus_socket'] };
      const said = { argv, env, flags: execArgv.filter((flag) => !/warm.cjs|snapshot/.test(flag)),
        names: Object.getOwnPropertyNames(globalThis).sort(), fetch: String(fetch), in: fs.readdirSync('/in') };
      Promise.all(Object.entries(tries).map(([name, [at, port]]) => new Promise((resolve) => {
        require('net').connect(...(port ? [port, at] : [at])).on('error', ({ code }) => { said[name] = code; resolve() });
      }))).then(() => process.stdout.write(JSON.stringify({
        warm: execArgv.includes('--require=/rt/warm.cjs'), said })));`;
    const shown = async (own: Sandbox) => {
      const end = await own.run(toolRun(seen, { net: 'public' }));
      return end.kind === 'exited' ? (end.value as { warm: boolean; said: unknown }) : end;
    };
    const built = await openAdjustedSandbox(
      { backend: 'bwrap', directory: directory.path, warm: 0 },
      (command) => command,
      world.outside,
    );
    const cold = await shown(built);
    await built.close();
    expect(cold).toMatchObject({ warm: false, said: { tcp: 'EACCES', bus: 'ENOENT' } });
    expect(await shown(sandbox)).toEqual({ ...cold, warm: true });
  });

  it('lets nobody out before it has its job, and nobody in after', async () => {
    const base = await createBaseFolder(process.arch as 'x64' | 'arm64', directory.path);
    const node = await inspectNode(process.execPath);
    const command: Ground['command'] = (job) => bwrapCommand(job, (name) => findProgram(name) ?? '');
    const outside = world.outside;
    const ground: Ground = { backend: 'bwrap', node, base, image: false, nets, outside, command };
    const listening = () =>
      process.getActiveResourcesInfo().filter((name) => /Pipe.*Server/.test(name)).length;
    const before = listening();
    const kind = warmClass({ net: 'public', limits: defaultLimits });
    const [one, other] = await Promise.all([startWarm(ground, kind), startWarm(ground, kind)]);
    // Named by the descriptors of their folders, as a socket's address is short.
    const folders = readdirSync(base.path)
      .filter((name) => name.startsWith('job-'))
      .map((name) => openSync(join(base.path, name), 'r'));
    expect(folders).toHaveLength(2);
    // What waits keeps no host alive.
    expect(listening()).toBe(before);
    world.lookups.length = 0;
    const ask = async (folder: number): Promise<string> => {
      const socket = connect(`/proc/self/fd/${folder}/egress`);
      socket.write('CONNECT site.example.com:80 HTTP/1.1\r\n\r\n');
      return text(socket).catch((error: { code: string }) => error.code);
    };
    for (const said of await Promise.all(folders.map(ask))) expect(said).toMatch(/^(ECONNRESET|EPIPE|)$/);

    // One is armed, and the other is not with it.
    one?.begin(toolRun('', { net: 'openvibe-only' }));
    const said = await Promise.all(folders.map(ask));
    expect(said.filter((one) => one.startsWith('HTTP/1.1 403'))).toHaveLength(1);
    expect(one?.targets).toMatchObject([{ host: 'site.example.com', allowed: false }]);
    expect(other?.targets).toEqual([]);
    expect(world.lookups).toEqual([]);
    await Promise.all([one?.discard(), other?.discard()]);
    expect(await Promise.all(folders.map(ask))).toEqual(['ENOENT', 'ENOENT']);
    folders.forEach(closeSync);
    expect(readdirSync(base.path).filter((name) => name.startsWith('job-'))).toEqual([]);
    await base.remove();
  });
});

it('is refused on util-linux, where none waits for one', async () => {
  await using directory = await makeDirectory();
  const options = { backend: 'util-linux', directory: directory.path, warm: 2 } as const;
  const sandbox = await openAdjustedSandbox(options, (command) => command, undefined, atOnce);
  try {
    for (const net of ['openvibe-only', 'public'] as const) {
      expect(await sandbox.run(toolRun(asks('site.example.com'), { net }))).toMatchObject({
        kind: 'refused',
      });
    }
  } finally {
    await sandbox.close();
  }
});
