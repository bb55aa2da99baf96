import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type * as AllowList from '../../../src/link/egress/allow-list.ts';
import type * as Check from '../../../src/link/egress/check.ts';
import type * as HostName from '../../../src/link/egress/host-name.ts';
import type * as WayOutProxy from '../../../src/link/egress/proxy.ts';
import type * as PublicAddress from '../../../src/link/egress/public-address.ts';
import type { Command } from '../../../src/link/sandbox/command.ts';
import { openAdjustedSandbox } from '../../../src/link/sandbox/open.ts';
import { type Architecture, seccompProgram } from '../../../src/link/sandbox/seccomp.ts';
import type { Sandbox } from '../../../src/link/sandbox/types.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';
import { type Canaries, setOutCanaries } from '../../attack/canaries.ts';
import { hostileRun, networkPrograms } from '../../attack/hostile.ts';
import { layWayOut, type WayOut } from '../../attack/way-out.ts';
import { atOnce, backends, eventually, makeDirectory, processesWith, toolRun } from './help.ts';
import { layers, networkLayers } from './layers.ts';

// The rules of the proxy, each of which a test can take away.
const rules = vi.hoisted(() => ({ names: true, list: true, addresses: true, words: true, shut: true }));
vi.mock('../../../src/link/egress/host-name.ts', async (original) => {
  const { readHostName } = await original<typeof HostName>();
  return { readHostName: (text: string) => (rules.names ? readHostName(text) : text) };
});
vi.mock('../../../src/link/egress/allow-list.ts', async (original) => {
  const { isAllowedHost } = await original<typeof AllowList>();
  return {
    isAllowedHost: (...args: Parameters<typeof isAllowedHost>) => !rules.list || isAllowedHost(...args),
  };
});
vi.mock('../../../src/link/egress/public-address.ts', async (original) => {
  const { isPublicAddress } = await original<typeof PublicAddress>();
  return { isPublicAddress: (address: string) => !rules.addresses || isPublicAddress(address) };
});
vi.mock('../../../src/link/egress/check.ts', async (original) => {
  const real = await original<typeof Check>();
  const readDestination: typeof real.readDestination = (...args) => {
    const found = real.readDestination(...args);
    if (rules.words || found === undefined) return found;
    return { ...found, read: () => ({ state: 'named', name: found.name }) };
  };
  return { ...real, readDestination };
});

vi.mock('../../../src/link/egress/proxy.ts', async (original) => {
  const real = await original<typeof WayOutProxy>();
  const openEgress: typeof real.openEgress = async (...args) => {
    const egress = await real.openEgress(...args);
    if (!rules.shut) egress.arm('public');
    return egress;
  };
  return { ...real, openEgress };
});

const on = (command: Command): Command => command;
// What a look from outside finds, at a sandbox that nothing runs in yet.
const seenOutside = layers.bwrap.filter(({ noticed }) =>
  /namespace|limit on|processor|open files|written files|core files|seccomp|capabilities/.test(
    String(noticed),
  ),
);

// The other backend gives a tool no network.
describe.each(backends.filter((backend) => backend === 'bwrap'))(
  'the layers of a network on %s',
  (backend) => {
    let directory: Awaited<ReturnType<typeof makeDirectory>>;
    let canaries: Canaries;
    let wayOut: WayOut;
    let sandbox: Sandbox;
    let adjust = on;

    const opened = (change: (command: Command) => Command) =>
      openAdjustedSandbox({ backend, directory: directory.path, warm: 0 }, change, wayOut.outside);
    beforeAll(async () => {
      directory = await makeDirectory();
      canaries = await setOutCanaries(directory.path);
      wayOut = await layWayOut();
      sandbox = await opened((command) => adjust(command));
    });
    afterEach(() => {
      adjust = on;
      Object.assign(rules, { names: true, list: true, addresses: true, words: true, shut: true });
    });
    afterAll(async () => {
      await sandbox?.close();
      await canaries?.close();
      await wayOut?.close();
      await directory?.[Symbol.asyncDispose]();
    });

    /** Opens another, which is probed as it stands; what it says of its networks. */
    async function expectWithheld(change: (command: Command) => Command, why: RegExp): Promise<void> {
      const other = await opened(change);
      expect(other.nets).toEqual(['deny']);
      expect(other.withheld).toMatch(why);
      expect(other.withheld).toContain('Run: ');
      expect(await other.run(toolRun('process.stdout.write("1")'))).toMatchObject({
        kind: 'exited',
        value: 1,
      });
      expect(await other.run(toolRun('', { net: 'public' }))).toMatchObject({ kind: 'refused' });
      await other.close();
    }

    /** Runs programs; what of the host they touched, told or left behind. */
    async function harmOf(ids: readonly string[]): Promise<string[]> {
      const found = ids.map((id) => networkPrograms.find((program) => program.id === id));
      const strayed = wayOut.strayed().length;
      const touched = canaries.touched().length;
      const ends = await Promise.all(
        found.map(async (program) => {
          if (program === undefined) throw new Error('There is no such program.');
          const run = hostileRun(program, canaries, 3000);
          const told = canaries.leaked(JSON.stringify(await sandbox.run(run)));
          return [...told, ...processesWith(`/in/${run.entry}`).map(String)];
        }),
      );
      return [...ends.flat(), ...wayOut.strayed().slice(strayed), ...canaries.touched().slice(touched)];
    }

    it('all on, are not withheld', async () => {
      expect(sandbox).toMatchObject({ nets: ['deny', 'openvibe-only', 'public'] });
      expect(sandbox.withheld).toBeUndefined();
    });

    // JavaScript makes sockets of few families; Perl, which every Debian has, of all: 40 is AF_VSOCK, 16 AF_NETLINK.
    it('let no socket be made but unix ones, whatever the language', () => {
      const filter = join(directory.path, 'filter');
      writeFileSync(filter, seccompProgram(process.arch as Architecture, 'unix'));
      const file = openSync(filter, 'r');
      const asks = 'for (0..45) { print "$_ " if socket(S, $_, 1, 0) or $! != 13; }';
      const args = [
        '--ro-bind',
        '/',
        '/',
        '--dev',
        '/dev',
        '--unshare-user',
        '--seccomp',
        '3',
        '--',
        'perl',
        '-e',
        asks,
      ];
      const { stdout, status } = spawnSync('bwrap', args, { stdio: ['ignore', 'pipe', 'inherit', file] });
      closeSync(file);
      expect({ status, families: String(stdout).trim() }).toEqual({ status: 0, families: '1' });
    });

    describe.each(networkLayers)('without $name', ({ off, noticed, held, lost = [] }) => {
      it('the probe withholds the network, and nothing else', () => expectWithheld(off, noticed as RegExp));
      it(`the others hold ${held.join(', ')}`, async () => {
        adjust = off;
        expect(await harmOf(held)).toEqual([]);
      });
      it.each(lost)('%s gets out', async (id) => {
        adjust = off;
        expect(await harmOf([id])).not.toEqual([]);
      });
    });

    describe('started ahead', () => {
      let ahead: Sandbox;
      let classes = 0;
      let starts = 0;
      beforeAll(async () => {
        const change = (command: Command): Command => {
          if (!command.args.includes('--require=/rt/warm.cjs') || !command.args.includes('/egress'))
            return command;
          starts += 1;
          return adjust(command);
        };
        const options = { backend, directory: directory.path, warm: 2 };
        ahead = await openAdjustedSandbox(options, change, wayOut.outside, atOnce);
      });
      afterAll(() => ahead?.close());

      /** Whether the second run of a class that is new has a sandbox that was started ahead, when one was. */
      async function isUsed(): Promise<unknown> {
        classes += 1;
        starts = 0;
        const limits = { ...defaultLimits, mem_bytes: defaultLimits.mem_bytes - classes * 1_048_576 };
        const isWarm = `process.execArgv.includes('--require=/rt/warm.cjs')`;
        const run = toolRun(`process.stdout.write(JSON.stringify(${isWarm}))`, { net: 'public', limits });
        expect(await ahead.run(run)).toMatchObject({ kind: 'exited', value: false });
        expect(await eventually(() => starts === 1)).toBe(true);
        const end = await ahead.run(run);
        return end.kind === 'exited' ? end.value : end;
      }

      it('is used with all of them', async () => {
        expect(await isUsed()).toBe(true);
      });
      it.each(seenOutside)('is not used without $name, and one is built for the run', async ({ off }) => {
        adjust = off;
        expect(await isUsed()).toBe(false);
      });
      it('is not used where its way out is open before it has its run', async () => {
        rules.shut = false;
        expect(await isUsed()).toBe(false);
      });
    });

    const parts: [rule: keyof typeof rules, noticed: RegExp, held: string[], lost: string[]][] = [
      ['names', /_a-\w+\.openvibe\.run:80/, ['way-addresses', 'way-private', 'way-ports'], []],
      ['list', /\.com:80/, ['way-addresses', 'way-private', 'way-names'], []],
      ['addresses', /c-\w+\.openvibe\.run:80.*not public/, ['way-addresses', 'way-numbers', 'way-tcp'], []],
      [
        'words',
        /Host|SNI|words for another host/,
        ['way-addresses', 'way-private', 'way-plain'],
        ['way-host'],
      ],
    ];
    it.each(parts)(
      'without the rule of %s, the probe withholds the network and the others hold',
      async (...part) => {
        const [rule, noticed, held, lost] = part;
        rules[rule] = false;
        await expectWithheld(on, noticed);
        expect(await harmOf(held)).toEqual([]);
        if (lost.length > 0) expect(await harmOf(lost)).not.toEqual([]);
      },
    );
  },
);

it('has no layer on util-linux that would hold a tool with a network: it gets none, and says why', async () => {
  await using directory = await makeDirectory();
  const sandbox = await openAdjustedSandbox(
    { backend: 'util-linux', directory: directory.path, warm: 0 },
    (command) => command,
  );
  expect(sandbox.nets).toEqual(['deny']);
  expect(sandbox.withheld).toContain('bwrap alone');
  await sandbox.close();
});
