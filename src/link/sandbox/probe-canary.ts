import { SkillRunError } from '../../errors.ts';
import { defaultLimits, type Net } from '../../skill/caps.ts';
import { type Diagnosis, diagnose, readSetting } from './diagnose.ts';
import { type Ground, withJob } from './ground.ts';
import { type Launched, launch } from './launch.ts';
import { type Lack, LackedLayers, type Layer } from './layer.ts';
import { missingLayers } from './probe-layers.ts';
import { processTree } from './process-tree.ts';
import type { Backend, ToolRun } from './types.ts';

const patienceMs = 10_000;
const maxAnswer = 4096;

/** What a canary is asked, and of whom. */
export interface Canary {
  readonly run: ToolRun;
  /** `/bin/node` and its arguments. */
  readonly inside: readonly string[];
  /** Goes to its stdin as one line of JSON; it answers with another, and waits until it is killed. */
  readonly question: object;
  /** Default: nothing. */
  readonly environment?: Record<string, string>;
}

/**
 * Runs a canary inside, and hands over what it said while it still runs.
 *
 * @param judge throws where the sandbox does not hold
 * @throws `link_unavailable` where it said nothing that can be judged
 */
export async function askCanary(
  ground: Ground,
  { run, inside, question, environment }: Canary,
  judge: (said: Record<string, unknown>, keeper: Launched) => void | Promise<void>,
): Promise<void> {
  await withJob(ground, run, inside, async (command) => {
    const launched = await launch(command, environment);
    try {
      launched.stdin.write(`${JSON.stringify(question)}\n`);
      await judge(readAnswer(await firstLine(launched)), launched);
    } finally {
      launched.kill();
      await launched.exit;
    }
  });
}

function readAnswer(line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch (cause) {
    throw unavailable({ ...diagnose('', readSetting), reason: 'The canary answered nonsense.' }, cause);
  }
}

/**
 * What the tool of a keeper lacks, looked at from outside.
 *
 * @throws `link_unavailable` where it cannot be looked at
 */
export function lacksOf(keeper: number, backend: Backend): Lack[] {
  const tool = processTree(keeper).at(-1);
  if (tool === undefined || tool.pid === keeper || tool.memBytes === 0) throw leaks(unwatched, ['limits']);
  return missingLayers(tool.pid, backend);
}

/**
 * Looks from outside at the tool of a keeper.
 *
 * @throws `link_unavailable` where it lacks a layer
 */
export function requireLayers(keeper: number, backend: Backend): void {
  const lacks = lacksOf(keeper, backend);
  if (lacks.length > 0) throw leaks(`it lacks ${lacks.map(({ what }) => what).join(', ')}`);
}

/**
 * Kills a keeper alone, as it is when its host is killed: what is inside, which must not end by itself, goes with it.
 *
 * @throws `link_unavailable` where it does not
 */
export async function requireDeathWith(keeper: Launched, backend: Backend): Promise<void> {
  const inside = processTree(keeper.pid).slice(1);
  process.kill(keeper.pid, 'SIGKILL');
  // When the last holder of its pipes is gone, or after a while.
  await keeper.exit;
  const left = inside.filter(({ pid }) => (processTree(pid)[0]?.memBytes ?? 0) > 0);
  if (left.length === 0) return;
  for (const { pid } of left.reverse()) process.kill(pid, 'SIGKILL');
  throw leaks('what is inside outlives its keeper', ['namespaces'], layersSeen(backend));
}

/** The layers that a canary and a look at it from outside show. */
export function layersSeen(backend: Backend): Layer[] {
  const everywhere = ['code', 'user', 'namespaces', 'root', 'privileges', 'limits', 'environment'] as const;
  return backend === 'bwrap' ? [...everywhere, 'seccomp'] : [...everywhere];
}

/** Why a sandbox does not hold that nobody can look into. */
export const unwatched = 'the processes inside cannot be watched (is /proc mounted with hidepid?)';

/** JavaScript that is true where Node's own layers are all there: the two flags and the preload. */
export const hasInnerLayers = `(() => {
  let evaluates = true;
  try { eval('1'); } catch { evaluates = false; }
  return !evaluates && process.permission?.has('fs.write') === false && process.report === undefined;
})()`;

/** A run of the probe's own code. */
export function probeRun(entry: string, code: string, net: Net = 'deny'): ToolRun {
  const files = [{ path: entry, bytes: Buffer.from(code) }];
  return { files, entry, input: {}, limits: defaultLimits, net };
}

// The first line of stdout. Without one in time: what the keeper complained about, as an error.
function firstLine({ stdout, stderr, exit }: Launched): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    let complaint = '';
    const give = (): void => reject(unavailable(diagnose(complaint, readSetting), complaint));
    const timer = setTimeout(give, patienceMs);
    stdout.on('data', (chunk: Buffer) => {
      text = (text + chunk).slice(0, maxAnswer);
      const end = text.indexOf('\n');
      if (end === -1) return;
      clearTimeout(timer);
      resolve(text.slice(0, end));
    });
    stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk).slice(0, maxAnswer);
    });
    void exit.then(() => {
      clearTimeout(timer);
      give();
    });
  });
}

/**
 * The error of a sandbox that does not hold.
 *
 * @param absent the layers that lack something, where that is known
 * @param seen all that were looked at
 */
export function leaks(
  how: string,
  absent: readonly Layer[] = [],
  seen: readonly Layer[] = absent,
): SkillRunError {
  const remedy = 'Install bubblewrap 0.8 or newer. Run: sudo apt-get install bubblewrap';
  return unavailable(
    { reason: `The sandbox does not hold: ${how}.`, remedy },
    new LackedLayers(absent, seen),
  );
}

/** The error of a machine that cannot hold a tool. */
export function unavailable({ reason, remedy }: Diagnosis, cause?: unknown): SkillRunError {
  return new SkillRunError('link_unavailable', `${reason} ${remedy}`, { cause });
}
