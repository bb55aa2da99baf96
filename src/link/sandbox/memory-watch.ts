import { processTree } from './process-tree.ts';

/** What was seen of a sandbox's processes so far; `null` where nothing could be read. */
export interface Watched {
  readonly cpuMs: number | null;
  readonly memPeakBytes: number | null;
}

/** A watch over a running sandbox. */
export interface MemoryWatch {
  /** Looks now, beside its own times. */
  look(): void;
  seen(): Watched;
  stop(): void;
}

const periodMs = 25;

/**
 * Reads the memory of a process tree every 25 ms, and once soon after its start, as many a tool is done by then. The
 * data limit of the kernel does not count what is shared, mapped or kept by V8 outside the heap in one sum; this
 * does.
 *
 * @param onExceeded called once, when the tree has more than `limit` bytes of anonymous memory
 */
export function watchMemory(pid: number, limit: number, onExceeded: () => void): MemoryWatch {
  let cpuMs: number | null = null;
  let memPeakBytes: number | null = null;
  let exceeded = false;
  const look = (): void => {
    const tree = processTree(pid);
    if (tree.length === 0) return;
    const sum = (field: 'memBytes' | 'memPeakBytes' | 'cpuMs'): number =>
      tree.reduce((total, sample) => total + sample[field], 0);
    cpuMs = Math.max(cpuMs ?? 0, sum('cpuMs'));
    memPeakBytes = Math.max(memPeakBytes ?? 0, sum('memPeakBytes'));
    if (exceeded || sum('memBytes') <= limit) return;
    exceeded = true;
    onExceeded();
  };
  let timer: NodeJS.Timeout;
  const lookAgain = (afterMs: number): void => {
    timer = setTimeout(() => {
      look();
      lookAgain(Math.min(afterMs * 2, periodMs));
    }, afterMs);
  };
  lookAgain(8);
  return {
    look,
    seen: () => ({ cpuMs, memPeakBytes }),
    stop: () => clearTimeout(timer),
  };
}
