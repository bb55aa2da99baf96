import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomHex } from '../../src/ids.ts';
import { maxBytes } from '../../src/link/egress/proxy.ts';
import type { Command } from '../../src/link/sandbox/command.ts';
import { openAdjustedSandbox } from '../../src/link/sandbox/open.ts';
import type { Backend, RunEnd, Sandbox } from '../../src/link/sandbox/types.ts';
import type { Net } from '../../src/skill/caps.ts';
import { atOnce, makeDirectory, processesWith, toolRun } from '../link/sandbox/help.ts';
import { type Canaries, setOutCanaries } from './canaries.ts';
import { expected, type Hostile, hostileRun, refusedBySystem, verdict } from './hostile.ts';
import { layWayOut, type WayOut } from './way-out.ts';

/** Where programs are run. */
export interface World {
  readonly backend: Backend;
  /** Path of a Node. */
  readonly node: string;
  /** All of them, or none of Node's own, so that the operating system is alone. */
  readonly layers: 'all layers' | "none of Node's layers";
  /** Default `deny`. */
  readonly net?: Net;
  /** Sandboxes started ahead. Default 0. */
  readonly warm?: number;
}

/**
 * Runs hostile programs in a world, each with three checks: the verdict, the canaries, and that nothing is
 * left behind.
 */
export function attack(world: World, programs: readonly Hostile[]): void {
  const { warm = 0, net = 'deny' } = world;
  describe(`hostile programs on ${world.backend}, net ${net}, with ${world.layers}, ${warm} started ahead, and ${world.node}`, () => {
    const all = world.layers === 'all layers';
    const wall = all ? 5000 : 1500;
    const nodeMajor = Number.parseInt(
      execFileSync(world.node, ['-p', 'process.versions.node']).toString(),
      10,
    );
    let directory: Awaited<ReturnType<typeof makeDirectory>>;
    let canaries: Canaries;
    let wayOut: WayOut;
    let sandbox: Sandbox;
    let before: string[];
    const files = () => readdirSync(directory.path, { recursive: true }).map(String).sort();

    beforeAll(async () => {
      directory = await makeDirectory();
      canaries = await setOutCanaries(directory.path);
      wayOut = await layWayOut();
      const { backend, node } = world;
      // After the probe, which would refuse a sandbox that lacks them.
      let adjust = (command: Command): Command => command;
      const options = { backend, node, directory: directory.path, warm };
      sandbox = await openAdjustedSandbox(options, (command) => adjust(command), wayOut.outside, atOnce);
      if (!all) adjust = withoutNodeLayers;
      before = files();
    });

    afterAll(async () => {
      await sandbox?.close();
      await canaries?.close();
      await wayOut?.close();
      await directory?.[Symbol.asyncDispose]();
    });

    it.concurrent.each(programs)('$id: $what', async (program) => {
      const run = hostileRun(program, canaries, wall, net);
      const times = program.runs === undefined ? 1 : 2;
      const ends: RunEnd[] = [];
      if (program.runs === 'together') {
        ends.push(...(await Promise.all([sandbox.run(run), sandbox.run(run)])));
      } else {
        while (ends.length < times) ends.push(await sandbox.run(run));
      }
      for (const end of ends) {
        const told = JSON.stringify(end);
        const { verdicts, refusal } = expected(program, sandbox.seccomp, nodeMajor, net);
        if (all) expect(verdicts, told).toContain(verdict(end));
        if (end.kind === 'refused') expect(verdicts, told).toContain('refused');
        if (end.kind === 'exited') {
          if (all && refusal) expect(end.value, told).toHaveProperty('denied');
          if (refusedBySystem(program)) expect(end.value).not.toHaveProperty('got');
        }
        expect(canaries.leaked(told)).toEqual([]);
        // With what may be on its way when the cap is reached.
        const bytes = end.targets.reduce((sum, target) => sum + target.bytes, 0);
        expect(bytes).toBeLessThan(maxBytes + 1_048_576);
      }
      expect([...canaries.touched(), ...wayOut.strayed()]).toEqual([]);
      expect(processesWith(`/in/${run.entry}`)).toEqual([]);
    });

    // Whatever a tool is in the middle of: the start of a sandbox is a race of several processes.
    it.concurrent.each([1, 5, 10, 20, 40, 60, 80, 120])(
      'leaves nothing when called off after %i ms',
      async (delay) => {
        const entry = `called-off-${delay}-${randomHex(8)}.js`;
        const signal = AbortSignal.timeout(delay);
        const end = await sandbox.run(
          toolRun('for(;;)try{process.stdin.read()}catch{}', { entry, signal, net }),
        );
        expect(end.kind).toBe('cancelled');
        expect(processesWith(`/in/${entry}`)).toEqual([]);
      },
    );

    it(`runs with ${world.layers}`, async () => {
      const code = `let got; try { got = eval('40+2') } catch {} process.stdout.write(JSON.stringify(got ?? null))`;
      expect(await sandbox.run(toolRun(code))).toMatchObject({ kind: 'exited', value: all ? null : 42 });
    });

    it('leaves no file, no process and no connection behind', async () => {
      await expect.poll(() => wayOut.open()).toBe(0);
      if (warm === 0) expect(files()).toEqual(before);
      else await sandbox.close();
      expect(processesWith(directory.path)).toEqual([]);
      if (warm > 0) expect(files()).toEqual(['secret.txt']);
    });

    if (net !== 'deny') {
      it('has a way out that lets a page through', async () => {
        expect(await sandbox.run(toolRun(reads, { net }))).toMatchObject({ kind: 'exited', value: 'Hello' });
      });
    }

    it('has canaries that would notice', async () => {
      await once(connect(canaries.http, '127.0.0.1'), 'connect');
      await once(connect(`\0${canaries.socket}`), 'connect');
      const socket = createSocket('udp4');
      socket.send('x', canaries.udp, '127.0.0.1');
      await expect.poll(() => canaries.touched().sort()).toEqual(['abstract socket', 'tcp', 'udp']);
      socket.close();
    });
  });
}

// A page, by the words that hostile programs use.
const reads = `let heard = '';
const socket = require('net').connect('/egress').on('data', (data) => {
  if (heard === '') socket.write('GET / HTTP/1.1\\r\\nHost: site.example.com\\r\\nConnection: close\\r\\n\\r\\n');
  heard += data;
}).on('close', () => process.stdout.write(JSON.stringify(heard.slice(heard.lastIndexOf('Hello'), heard.lastIndexOf('Hello') + 5))));
socket.write('CONNECT site.example.com:80 HTTP/1.1\\r\\n\\r\\n');`;

function withoutNodeLayers(command: Command): Command {
  const inner = /^--(require|permission|experimental-permission|allow-|disallow-|no-addons|no-experimental)/;
  const start = command.args.indexOf('/bin/node', command.args.lastIndexOf('--'));
  return { ...command, args: command.args.filter((word, at) => at < start || !inner.test(word)) };
}
