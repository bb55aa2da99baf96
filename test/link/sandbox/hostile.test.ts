import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Command } from '../../../src/link/sandbox/command.ts';
import { openAdjustedSandbox } from '../../../src/link/sandbox/open.ts';
import type { RunEnd, Sandbox, ToolRun } from '../../../src/link/sandbox/types.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';
import hostile from '../../fixtures/hostile-skills.json' with { type: 'json' };
import { type Canaries, setOutCanaries } from './canaries.ts';
import { backends, makeDirectory, processesWith, toolRun } from './help.ts';

interface Case {
  readonly id: string;
  readonly what: string;
  readonly code: string;
  readonly expect: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly wall_ms?: number;
}

const cases = hostile as Case[];

function hostileRun(
  { id, code, files = {}, stdin, wall_ms }: Case,
  canaries: Canaries,
  wall: number,
): ToolRun {
  const text = code.replace(/\bHTTP\b/g, String(canaries.http)).replace(/\bUDP\b/g, String(canaries.udp));
  const entry = `hostile-${id}.js`;
  const beside = Object.entries(files).map(([path, content]) => ({ path, bytes: Buffer.from(content) }));
  return {
    files: [{ path: entry, bytes: Buffer.from(text) }, ...beside],
    entry,
    input: stdin === undefined ? {} : { text: 'a'.repeat(60_000) },
    limits: { ...defaultLimits, wall_ms: wall_ms ?? wall },
    net: 'deny',
  };
}

// Contained, but less clean than a refusal that the program sees: without seccomp a socket can be made, which
// leads nowhere but keeps the program waiting; and Node 25 throws where the program cannot catch it.
function alsoContained(id: string, seccomp: Sandbox['seccomp']): string[] {
  const waits = seccomp === 'absent' && (id === 'net-udp' || id === 'net-listen');
  const throws = id === 'net-listen' && Number.parseInt(process.versions.node, 10) >= 25;
  return [...(waits ? ['limit:wall'] : []), ...(throws ? ['failed'] : [])];
}

function expected(
  { id, expect: words }: Case,
  seccomp: Sandbox['seccomp'],
): { verdicts: string[]; refusal: boolean } {
  if (words === 'anything, contained') {
    return { verdicts: ['completed', 'failed', 'limit:wall', 'limit:memory'], refusal: false };
  }
  const [verdicts = '', rule] = words.split('; ');
  return {
    verdicts: [
      ...verdicts.split('|').map((one) => (one === 'limit:stderr' ? 'limit:output' : one)),
      ...alsoContained(id, seccomp),
    ],
    refusal: rule === 'the tool saw a refusal',
  };
}

function mayHang(one: Case): boolean {
  return [...expected(one, 'absent').verdicts, ...expected(one, 'on').verdicts].includes('limit:wall');
}

/** The verdict in the corpus' own words. */
function verdict(end: RunEnd): string {
  if (end.kind === 'exited') return 'completed';
  return end.kind === 'limit' ? `limit:${end.limit}` : end.kind;
}

// Every flag and preload of Node's own, so that the operating system is alone.
function withoutNodeLayers(command: Command): Command {
  const inner = /^--(require|permission|experimental-permission|allow-|disallow-|no-addons|no-experimental)/;
  const start = command.args.indexOf('/bin/node', command.args.lastIndexOf('--'));
  return { ...command, args: command.args.filter((word, at) => at < start || !inner.test(word)) };
}

const worlds = backends.flatMap((backend) => [
  { backend, layers: 'all layers', warm: 0, wall: 3000, adjust: (command: Command) => command },
  { backend, layers: 'all layers', warm: 5, wall: 10_000, adjust: (command: Command) => command },
  { backend, layers: "none of Node's layers", warm: 0, wall: 1500, adjust: withoutNodeLayers },
]);

describe.each(worlds)(
  'hostile skills on $backend with $layers, $warm started ahead',
  ({ backend, layers, warm, wall, adjust }) => {
    let directory: Awaited<ReturnType<typeof makeDirectory>>;
    let canaries: Canaries;
    let sandbox: Sandbox;
    let before: string[];
    const files = () => readdirSync(directory.path, { recursive: true }).map(String).sort();

    beforeAll(async () => {
      directory = await makeDirectory();
      canaries = await setOutCanaries(directory.path);
      sandbox = await openAdjustedSandbox({ backend, directory: directory.path, warm }, adjust);
      before = files();
    });

    afterAll(async () => {
      await sandbox.close();
      await canaries.close();
      await directory[Symbol.asyncDispose]();
    });

    // Only the default limits are started ahead, and what runs into their wall would take the time of all others.
    const some = warm === 0 ? cases : cases.filter((one) => one.wall_ms === undefined && !mayHang(one));

    it.concurrent.each(some)('$id: $what', async (hostileCase) => {
      const run = hostileRun(hostileCase, canaries, wall);
      const end = await sandbox.run(run);
      if (layers === 'all layers') {
        const { verdicts, refusal } = expected(hostileCase, sandbox.seccomp);
        expect(verdicts, JSON.stringify(end)).toContain(verdict(end));
        if (end.kind === 'exited' && refusal) expect(end.value).toHaveProperty('denied');
      }
      expect(end.kind).not.toBe('refused');
      const told = JSON.stringify(end);
      for (const secret of canaries.secrets) expect(told).not.toContain(secret);
      expect(canaries.touched()).toEqual([]);
      expect(processesWith(`/in/${run.entry}`)).toEqual([]);
    });

    it(`runs with ${layers}`, async () => {
      const end = await sandbox.run(
        toolRun(
          `let got; try { got = eval('40+2') } catch {} process.stdout.write(JSON.stringify(got ?? null))`,
        ),
      );
      expect(end).toMatchObject({ kind: 'exited', value: layers === 'all layers' ? null : 42 });
    });

    it('leaves no file and no process behind', async () => {
      if (warm === 0) expect(files()).toEqual(before);
      await sandbox.close();
      expect(files()).toEqual(['secret.txt']);
      expect(processesWith(directory.path)).toEqual([]);
    });

    it('has canaries that would notice', async () => {
      await once(connect(canaries.http, '127.0.0.1'), 'connect');
      await once(connect('\0sbxabs'), 'connect');
      const socket = createSocket('udp4');
      socket.send('x', canaries.udp, '127.0.0.1');
      await expect.poll(() => canaries.touched().sort()).toEqual(['abstract socket', 'tcp', 'udp']);
      socket.close();
    });
  },
);
