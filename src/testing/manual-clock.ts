import type { Clock } from '../clock.ts';
import { aborted } from '../clock.ts';

/** A clock that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /**
   * Goes on by `ms`, waking the sleepers on the way in the order of their times. What a sleeper does when it
   * wakes is given a turn of the event loop before the next one wakes.
   */
  advance(ms: number): Promise<void>;
  /** Sleepers that wait now. */
  readonly sleepers: number;
  /** Settles once at least `count` sleepers wait. */
  whenSleeping(count?: number): Promise<void>;
}

interface Sleeper {
  readonly at: number;
  wake(): void;
}

// Taken when the module loads, so that a test's fake timers do not stop this clock.
const later = setTimeout;

/** @param start milliseconds since 1970; default 2026-01-01 */
export function createManualClock(start = 1_767_225_600_000): ManualClock {
  let now = start;
  const sleepers = new Set<Sleeper>();
  const watchers = new Set<() => void>();

  const settle = (): Promise<void> => new Promise((resolve) => void later(resolve, 0));

  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(aborted(signal));
          return;
        }
        const stop = (): void => {
          sleepers.delete(sleeper);
          reject(aborted(signal));
        };
        const sleeper: Sleeper = {
          at: now + Math.max(0, ms),
          wake() {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', stop);
            resolve();
          },
        };
        signal?.addEventListener('abort', stop, { once: true });
        sleepers.add(sleeper);
        for (const look of [...watchers]) look();
      }),
    async advance(ms) {
      const end = now + ms;
      await settle();
      for (;;) {
        const due = [...sleepers].filter((sleeper) => sleeper.at <= end);
        // Equal times wake in the order in which they went to sleep: the sort is stable.
        const first = due.sort((a, b) => a.at - b.at)[0];
        if (first === undefined) break;
        now = Math.max(now, first.at);
        first.wake();
        await settle();
      }
      now = end;
    },
    get sleepers() {
      return sleepers.size;
    },
    whenSleeping: (count = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (sleepers.size < count) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
  };
}
