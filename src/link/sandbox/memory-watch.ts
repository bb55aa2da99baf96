import { processTree } from './process-tree.ts';

/** What was seen of a sandbox's processes so far; `null` where nothing could be read. */
export interface Watched {
  readonly cpuMs: number | null;
  readonly memPeakBytes: number | null;
}

/** A watch over a running sandbox. */
export interface MemoryWatch {
  seen(): Watched;
  stop(): void;
}

const periodMs = 25;

/**
 * Reads the memory of a process tree every 25 ms. The data limit of the kernel does not count what is shared,
 * mapped or kept by V8 outside the heap in one sum; this does.
 *
 * @param onExceeded called once, when the tree has more than `limit` bytes of anonymous memory
 */
export function watchMemory(pid: number, limit: number, onExceeded: () => void): MemoryWatch {
  let cpuMs: number | null = null;
  let memPeakBytes: number | null = null;
  const look = (): void => {
    const tree = processTree(pid);
    if (tree.length === 0) return;
    const total = tree.reduce((sum, { memBytes }) => sum + memBytes, 0);
    // A process that ended takes its time with it.
    cpuMs = Math.max(
      cpuMs ?? 0,
      tree.reduce((sum, sample) => sum + sample.cpuMs, 0),
    );
    const before = memPeakBytes ?? 0;
    memPeakBytes = Math.max(before, total);
    if (total > limit && before <= limit) onExceeded();
  };
  const timer = setInterval(look, periodMs);
  look();
  return {
    seen: () => ({ cpuMs, memPeakBytes }),
    stop: () => clearInterval(timer),
  };
}
