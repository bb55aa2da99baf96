import { aborted, type Clock } from '../../../src/clock.ts';

/** A clock that moves only when a test lets it: to the next sleeper, once nothing else is left to do. */
export interface TestClock extends Clock {
  /** The length of every sleep that was begun, in milliseconds. */
  readonly slept: number[];
  /** Sleeps that have not settled. */
  pending(): number;
  /** Settles with `work`, moving time on whenever it waits for nothing but the clock. */
  run<T>(work: Promise<T>): Promise<T>;
  /** Moves time on by `ms`, waking the sleepers on the way in their order. */
  advance(ms: number): Promise<void>;
}

// In-process answers need a few turns of the event loop: streams and clones of requests among them.
async function settle(): Promise<void> {
  for (let turn = 0; turn < 6; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export function createTestClock(start = Date.parse('2026-11-20T10:00:00Z')): TestClock {
  let now = start;
  const sleepers = new Set<{ at: number; wake: () => void }>();
  const slept: number[] = [];
  const first = () => [...sleepers].sort((a, b) => a.at - b.at)[0];
  return {
    slept,
    now: () => now,
    pending: () => sleepers.size,
    sleep: (ms, signal) => {
      slept.push(ms);
      return new Promise((resolve, reject) => {
        const stop = (): void => {
          sleepers.delete(sleeper);
          reject(aborted(signal));
        };
        const sleeper = {
          at: now + Math.max(0, ms),
          wake: () => {
            sleepers.delete(sleeper);
            signal?.removeEventListener('abort', stop);
            resolve();
          },
        };
        sleepers.add(sleeper);
        if (signal?.aborted) stop();
        else signal?.addEventListener('abort', stop, { once: true });
      });
    },
    async run(work) {
      let done = false;
      const over = (): void => {
        done = true;
      };
      work.then(over, over);
      for (;;) {
        await settle();
        if (done) return work;
        const next = first();
        if (next === undefined) throw new Error('Nothing is left that could settle the work.');
        now = Math.max(now, next.at);
        next.wake();
      }
    },
    async advance(ms) {
      const end = now + ms;
      for (;;) {
        await settle();
        const next = first();
        if (next === undefined || next.at > end) break;
        now = Math.max(now, next.at);
        next.wake();
      }
      now = end;
    },
  };
}
