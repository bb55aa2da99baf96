import { constants } from 'node:os';
import { type Limits, maxJsonBytes } from '../../skill/caps.ts';
import type { Exit } from './launch.ts';
import { cpuSeconds } from './limits.ts';
import type { Watched } from './memory-watch.ts';
import { readOutput } from './output.ts';
import type { RunEnd } from './types.ts';

/** Why the host ended a run, where it did: the first reason stands. */
export type Cause = 'cancelled' | 'wall' | 'memory' | 'output' | 'stderr';

/** Most of a tool's stderr that is read at all, in bytes; more is a flood, and ends the run. */
export const maxStderrFlood = 1_048_576;

type Verdict<End> = End extends unknown ? Omit<End, 'stderr' | 'usage' | 'targets'> : never;

/** How a run ended, from what ended it, what it wrote and what was seen of it. */
export function judge(
  cause: Cause | undefined,
  exit: Exit,
  stdout: Uint8Array,
  seen: Watched,
  limits: Limits,
): Verdict<RunEnd> {
  if (cause === 'cancelled') return { kind: 'cancelled' };
  if (cause === 'wall') return limit('wall', `The tool ran longer than ${limits.wall_ms} ms.`);
  if (cause === 'memory')
    return limit('memory', `The tool used more than ${limits.mem_bytes} bytes of memory.`);
  if (cause === 'output') return limit('output', `The tool wrote more than ${maxJsonBytes} bytes.`);
  if (cause === 'stderr') {
    return limit('output', `The tool wrote more than ${maxStderrFlood} bytes to its stderr.`);
  }
  const signal = signalOf(exit);
  if (isCpuDeath(signal, seen, limits)) {
    return limit('cpu', `The tool used more than ${cpuSeconds(limits)} s of processor time.`);
  }
  if (isMemoryDeath(signal, seen, limits)) {
    return limit('memory', `The tool ran out of its ${limits.mem_bytes} bytes of memory.`);
  }
  if (exit.code !== 0) {
    return { kind: 'failed', exitCode: exit.code, detail: `The tool ended with ${describe(exit)}.` };
  }
  const output = readOutput(stdout);
  if (output.ok) return { kind: 'exited', value: output.value };
  return { kind: 'failed', exitCode: 0, detail: output.detail };
}

function limit(name: 'wall' | 'cpu' | 'memory' | 'output', detail: string): Verdict<RunEnd> {
  return { kind: 'limit', limit: name, detail };
}

const { SIGABRT, SIGILL, SIGKILL, SIGSEGV, SIGTRAP, SIGXCPU } = constants.signals;
// How V8 and libc end a process that has no memory left; the first process of a namespace cannot abort, and faults.
const outOfMemory: readonly number[] = [SIGABRT, SIGILL, SIGKILL, SIGSEGV, SIGTRAP];

// A backend passes a signal of the tool on either as one, or as the shell does, as 128 and its number.
function signalOf({ code, signal }: Exit): number | undefined {
  if (signal !== null) return constants.signals[signal];
  return code !== null && code > 128 ? code - 128 : undefined;
}

// The kernel kills at the hard limit, which is the soft one too.
function isCpuDeath(signal: number | undefined, { cpuMs }: Watched, limits: Limits): boolean {
  if (signal !== SIGXCPU && signal !== SIGKILL) return false;
  return (cpuMs ?? 0) > (cpuSeconds(limits) - 1) * 1000;
}

// V8 ends itself when its heap is full, before the tree as a whole is over the limit.
function isMemoryDeath(signal: number | undefined, { memPeakBytes }: Watched, limits: Limits): boolean {
  return signal !== undefined && outOfMemory.includes(signal) && (memPeakBytes ?? 0) > limits.mem_bytes / 2;
}

function describe({ code, signal }: Exit): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`;
}
