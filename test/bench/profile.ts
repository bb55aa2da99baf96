import { setTimeout as pause } from 'node:timers/promises';
import type { Outside } from '../../src/link/egress/outside.ts';
import type { Command } from '../../src/link/sandbox/command.ts';
import { openAdjustedSandbox } from '../../src/link/sandbox/open.ts';
import type { Backend, ToolRun } from '../../src/link/sandbox/types.ts';
import { type Figure, percentile } from './table.ts';

const rounds = 20;
const phases = ['folder', 'spawn', 'keeper', 'node start', 'preload', 'tool', 'exit'];
const warmPhases = ['code laid', 'tool loaded', 'tool', 'exit'];
/** Milliseconds in which the one after the one that was just used comes up. */
const calmMs = 200;

// `hrtime` is the kernel's, and so the same inside.
const now = (): number => Number(process.hrtime.bigint()) / 1e6;
const inside = `const now = () => Number(process.hrtime.bigint()) / 1e6;`;
const before = `${inside} globalThis.times = [now() - performance.now(), now()];`;
const after = `${inside} globalThis.times.push(now());`;

type Profiled = Omit<ToolRun, 'files' | 'entry' | 'onStart'>;

interface On {
  readonly backend: Backend;
  readonly directory: string;
  /** How many sandboxes wait. */
  readonly warm: number;
  readonly outside: Outside;
  readonly adjust: (command: Command) => Command;
}

/**
 * Where the time of a run that is built for its job goes: medians of each phase, in milliseconds. `tool` is from
 * the end of the preload to the tool's last word, and `exit` all that follows.
 *
 * @param code writes its answer once
 */
export async function profile(name: string, run: Profiled, code: string, options: On): Promise<Figure[]> {
  const { backend, directory, warm, outside } = options;
  let built = 0;
  let started = 0;
  const adjust = (command: Command): Command => {
    const { args, ...rest } = options.adjust(command);
    built = now();
    const at = args.findLastIndex((word) => word.startsWith('--require=/rt/'));
    if (at === -1 || args.at(-1) !== '/in/main.js') return { ...rest, args };
    const between = ['--require=/in/before.js', args[at] ?? '', '--require=/in/after.js'];
    return { ...rest, args: args.toSpliced(at, 1, ...between) };
  };
  const answer = `const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = () => write(JSON.stringify([...globalThis.times, now()]));`;
  const files = Object.entries({ main: `${inside} ${answer} ${code}`, before, after }).map(
    ([path, text]) => ({
      path: `${path}.js`,
      bytes: Buffer.from(text),
    }),
  );
  const marks: number[][] = [];
  const sandbox = await openAdjustedSandbox({ backend, directory, warm }, adjust, outside);
  try {
    for (let round = -2; round < rounds; round += 1) {
      const begun = now();
      const onStart = (): void => {
        started = now();
      };
      const end = await sandbox.run({ ...run, files, entry: 'main.js', onStart });
      const over = now();
      if (end.kind !== 'exited') throw new Error(`The profiled tool did not run: ${end.kind}. ${end.stderr}`);
      if (round < 0) continue;
      marks.push([begun, built, started, ...(end.value as number[]), over]);
    }
  } finally {
    await sandbox.close();
  }
  return figures(name, phases, marks);
}

/** The same for a run that is given a sandbox which waits. */
export async function profileWarm(name: string, run: Profiled, code: string, on: On): Promise<Figure[]> {
  const { backend, directory, warm, outside } = on;
  const answer = `const begun = now(); const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = () => write(JSON.stringify([begun, now()]));`;
  const files = [{ path: 'main.js', bytes: Buffer.from(`${inside} ${answer} ${code}`) }];
  const marks: number[][] = [];
  const sandbox = await openAdjustedSandbox({ backend, directory, warm }, on.adjust, outside, {
    restMs: 0,
  });
  try {
    for (let round = -2; round < rounds; round += 1) {
      await pause(calmMs);
      const begun = now();
      let started = 0;
      const onStart = (): void => {
        started = now();
      };
      const end = await sandbox.run({ ...run, files, entry: 'main.js', onStart });
      const over = now();
      if (end.kind !== 'exited') throw new Error(`The profiled tool did not run: ${end.kind}. ${end.stderr}`);
      if (round >= 0) marks.push([begun, started, ...(end.value as number[]), over]);
    }
  } finally {
    await sandbox.close();
  }
  return figures(name, warmPhases, marks);
}

// Each phase lies between two marks.
function figures(name: string, between: readonly string[], marks: readonly number[][]): Figure[] {
  return between.map((phase, at) => {
    const taken = marks.map((row) => (row[at + 1] ?? 0) - (row[at] ?? 0));
    return {
      name: `${name}: ${phase}`,
      p50: percentile(taken, 0.5),
      p95: percentile(taken, 0.95),
      unit: 'ms',
    };
  });
}
