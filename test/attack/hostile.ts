import { randomHex } from '../../src/ids.ts';
import type { RunEnd, Sandbox, ToolRun } from '../../src/link/sandbox/types.ts';
import { defaultLimits, type Net } from '../../src/skill/caps.ts';
import handed from '../fixtures/hostile-skills.json' with { type: 'json' };
import own from '../fixtures/hostile-skills-own.json' with { type: 'json' };
import type { Canaries } from './canaries.ts';

/** A program that tries something no tool may do. */
export interface Hostile {
  readonly id: string;
  readonly what: string;
  /** `HTTP` and `UDP` in it stand for the ports of the canaries, `sbxabs` for the name of their socket. */
  readonly code: string;
  /** Verdicts of the run, `|` between them; `; ` and a rule for the value. */
  readonly expect: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly wall_ms?: number;
  /** What it needs. One for `deny` is run with a network too. */
  readonly net: Net;
  /** {@link Hostile.expect} where it has a network, if that is another. */
  readonly expect_network?: string;
  /** Run twice: at once, to see whether two jobs meet, or in turn, to see whether one stays for the next. */
  readonly runs?: 'together' | 'in turn';
}

export const handedPrograms = handed as readonly Hostile[];
export const ownPrograms = own as readonly Hostile[];

/** Those that need a network. */
export const networkPrograms = ownPrograms.filter(({ net }) => net !== 'deny');

/** The programs that can be run with this net. */
export function programsFor(net: Net): readonly Hostile[] {
  return [...handedPrograms, ...ownPrograms].filter((program) => net !== 'deny' || program.net === 'deny');
}

/** The first of each kind, always the same: what stands before the first hyphen of an id is its kind. */
export function sampleOf(programs: readonly Hostile[]): readonly Hostile[] {
  const kind = ({ id }: Hostile): string => id.replace(/-.*/, '');
  return [...new Map([...programs].reverse().map((program) => [kind(program), program])).values()];
}

/** The run of a program; `wall` in milliseconds where it asks for none itself, `net` where it needs none. */
export function hostileRun(program: Hostile, canaries: Canaries, wall: number, net: Net = 'deny'): ToolRun {
  const { id, code, files = {}, stdin, wall_ms } = program;
  const text = code
    .replace(/\bHTTP\b/g, String(canaries.http))
    .replace(/\bUDP\b/g, String(canaries.udp))
    .replaceAll('sbxabs', canaries.socket);
  // Another worker may be running the same program.
  const entry = `hostile-${id}-${randomHex(8)}.js`;
  const beside = Object.entries(files).map(([path, content]) => ({ path, bytes: Buffer.from(content) }));
  return {
    files: [{ path: entry, bytes: Buffer.from(text) }, ...beside],
    entry,
    input: stdin === undefined ? {} : { text: 'a'.repeat(60_000) },
    limits: { ...defaultLimits, wall_ms: wall_ms ?? wall },
    net: program.net === 'deny' ? net : program.net,
  };
}

/** How a program has to end where all layers are on. */
export interface Expected {
  readonly verdicts: readonly string[];
  /** Whether the program must have seen a refusal, if it ended well. */
  readonly refusal: boolean;
}

export function expected(
  { id, expect: alone, expect_network: networked = alone }: Hostile,
  seccomp: Sandbox['seccomp'],
  nodeMajor: number,
  net: Net,
): Expected {
  const words = net === 'deny' ? alone : networked;
  if (words === 'anything, contained') {
    return {
      verdicts: ['completed', 'failed', 'limit:wall', 'limit:memory', 'limit:output'],
      refusal: false,
    };
  }
  const [verdicts = '', rule = ''] = words.split('; ');
  return {
    verdicts: [
      ...verdicts.split('|').map((one) => (one === 'limit:stderr' ? 'limit:output' : one)),
      ...alsoContained(id, seccomp, nodeMajor),
    ],
    refusal: rule.startsWith('the tool saw a refusal'),
  };
}

/** Whether the operating system alone, without Node's own layers, must refuse what the program tries. */
export function refusedBySystem({ expect: words }: Hostile): boolean {
  return words.endsWith('a refusal of the system');
}

// Contained, but less clean than a refusal that the program sees: without seccomp a socket can be made, which
// leads nowhere but keeps the program waiting; and Node 25 throws where the program cannot catch it.
function alsoContained(id: string, seccomp: Sandbox['seccomp'], nodeMajor: number): string[] {
  const waits = seccomp === 'absent' && (id === 'net-udp' || id === 'net-listen');
  const throws = id === 'net-listen' && nodeMajor >= 25;
  return [...(waits ? ['limit:wall'] : []), ...(throws ? ['failed'] : [])];
}

/** How a run ended, in the words of {@link Hostile.expect}. */
export function verdict(end: RunEnd): string {
  if (end.kind === 'exited') return 'completed';
  return end.kind === 'limit' ? `limit:${end.limit}` : end.kind;
}
