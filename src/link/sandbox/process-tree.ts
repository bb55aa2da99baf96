import { readdirSync, readFileSync } from 'node:fs';

/** One process of a sandbox, as the host's /proc shows it. */
export interface ProcessSample {
  readonly pid: number;
  /**
   * `RssAnon + RssShmem + VmSwap + VmPTE`: memory that no file stands behind, wherever it is kept, and the tables
   * that find it, which a process can make large without any; in bytes.
   */
  readonly memBytes: number;
  /** About the most that `memBytes` has been so far, also between two looks. */
  readonly memPeakBytes: number;
  /** Processor time used so far, also by its children that ended, in milliseconds. */
  readonly cpuMs: number;
}

// The kernel's unit in /proc/PID/stat, fixed at 1/100 s on x64 and arm64.
const millisecondsPerTick = 10;

/** A process and all that descend from it, parents first; processes that ended meanwhile are left out. */
export function processTree(pid: number): ProcessSample[] {
  const found: ProcessSample[] = [];
  const open = [pid];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const sample = readProcess(next);
    if (sample === undefined) continue;
    found.push(sample);
    open.push(...childrenOf(next));
  }
  return found;
}

// Each is a file to read, and native code that broke out of Node could have thousands; none of them can fork.
const maxThreads = 256;

/** The processes that a process has started, by any of its threads. */
export function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`).slice(0, maxThreads);
    return threads.flatMap((thread) =>
      (read(`/proc/${pid}/task/${thread}/children`) ?? '').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/**
 * When a process started, in the kernel's ticks since boot; `undefined` when there is none.
 * With the pid it names one process, also after the number was given out again.
 */
export function startTime(pid: number): number | undefined {
  const fields = statFields(pid);
  return fields === undefined ? undefined : Number(fields[19]);
}

function readProcess(pid: number): ProcessSample | undefined {
  const status = read(`/proc/${pid}/status`);
  const fields = statFields(pid);
  if (status === undefined || fields === undefined) return undefined;
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
  // utime, stime, cutime, cstime
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  const memory = ['RssAnon', 'RssShmem', 'VmSwap', 'VmPTE'].reduce((sum, name) => sum + kilobytes(name), 0);
  return {
    pid,
    memBytes: memory * 1024,
    // The kernel keeps the peak of all that was resident; what files stand behind is taken off as it is now.
    memPeakBytes: Math.max(memory, kilobytes('VmHWM') - kilobytes('RssFile')) * 1024,
    cpuMs: ticks * millisecondsPerTick,
  };
}

// The fields after the name, which may itself hold spaces and brackets: [0] is the state.
function statFields(pid: number): string[] | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return undefined;
  }
}
