import type { Clock } from '../clock.ts';
import { sha256 } from '../skill/sha256.ts';
import { createSleepers } from './sleepers.ts';

/** A clock that stands still until it is told to go on. */
export interface ManualClock extends Clock {
  /**
   * Goes on by `ms`, waking the sleepers on the way in the order of their times. What a sleeper does when it
   * wakes is given a turn of the event loop, and the time that a hash takes, before the next one wakes.
   */
  advance(ms: number): Promise<void>;
  /** Sleepers that wait now. */
  readonly sleepers: number;
  /** Settles once at least `count` sleepers wait. */
  whenSleeping(count?: number): Promise<void>;
}

// Taken when the module loads, so that a test's fake timers do not stop this clock.
const later = setTimeout;

/** @param start milliseconds since 1970; default 2026-01-01 */
export function createManualClock(start = 1_767_225_600_000): ManualClock {
  let now = start;
  const { waiting, sleep } = createSleepers(() => now);
  const watchers = new Set<() => void>();

  // The library hashes on another thread, which on a busy machine takes many turns.
  const settle = async (): Promise<void> => {
    await sha256('');
    await new Promise<void>((resolve) => void later(resolve, 0));
  };

  return {
    now: () => now,
    sleep(ms, signal) {
      const slept = sleep(ms, signal);
      for (const look of [...watchers]) look();
      return slept;
    },
    async advance(ms) {
      const end = now + ms;
      await settle();
      for (;;) {
        const due = [...waiting].filter((sleeper) => sleeper.at <= end);
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
      return waiting.size;
    },
    whenSleeping: (count = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (waiting.size < count) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
  };
}
