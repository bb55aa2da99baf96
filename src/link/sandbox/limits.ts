import type { Limits } from '../../skill/caps.ts';
import { type NodeBinary, smallPools } from './node-binary.ts';

const mebibyte = 1_048_576;

/** Seconds of processor time a run may use: its wall time, and one for the start. */
export function cpuSeconds(limits: Limits): number {
  return Math.ceil(limits.wall_ms / 1000) + 1;
}

/**
 * Arguments of `prlimit` that every backend sets.
 *
 * RLIMIT_AS is of no use, as V8 reserves far more than it touches; RLIMIT_DATA counts what can be written,
 * so the binary's own share is added. The margin lets the memory watch, and not a failed allocation, decide.
 */
export function processLimits(node: NodeBinary, limits: Limits): string[] {
  return [
    `--data=${node.dataBytes + limits.mem_bytes + 24 * mebibyte}`,
    `--cpu=${cpuSeconds(limits)}`,
    '--nofile=64',
    '--fsize=0',
    // Too little for a file, and not 0: a machine that pipes cores to a program, such as apport, starts it as root
    // for whatever crashes, with all of its memory, whatever this limit is, unless it is 1.
    '--core=1',
  ];
}

/** V8 flags that keep the heap inside the run's memory. */
export function heapFlags(limits: Limits): string[] {
  const heap = Math.max(24, Math.floor(limits.mem_bytes / mebibyte) - 32);
  return [...smallPools, `--max-old-space-size=${heap}`];
}

/** The flags of Node's own permission model: the inner layer, never the boundary. */
export function permissionFlags({ major, minor }: NodeBinary): string[] {
  const renamed = major > 23 || (major === 23 && minor >= 5) || (major === 22 && minor >= 13);
  const signal = major > 23 || (major === 23 && minor >= 7) || (major === 22 && minor >= 14);
  return [
    renamed ? '--permission' : '--experimental-permission',
    '--allow-fs-read=/in/',
    '--allow-fs-read=/rt/',
    '--disallow-code-generation-from-strings',
    '--no-addons',
    '--disable-warning=ExperimentalWarning',
    ...(major >= 22 ? ['--no-experimental-sqlite'] : []),
    ...(signal ? ['--disable-sigusr1'] : []),
  ];
}

/** The flags of a tool that has a network. */
export function networkFlags({ major }: NodeBinary): string[] {
  return [
    // A distribution's Node looks for certificates on disk, where a sandbox has none.
    '--use-bundled-ca',
    // From then on the inner layer knows of sockets too.
    ...(major >= 25 ? ['--allow-net'] : []),
  ];
}
