import { aborted, type Clock } from '../clock.ts';

/** Who waits for a clock that goes on only as it is told. */
export interface Sleeper {
  /** Milliseconds since 1970. */
  readonly at: number;
  wake(): void;
}

/** The sleepers of such a clock: in `waiting` until they are woken or aborted. */
export interface Sleepers {
  readonly waiting: ReadonlySet<Sleeper>;
  readonly sleep: Clock['sleep'];
}

/** @param now the clock's time */
export function createSleepers(now: () => number): Sleepers {
  const waiting = new Set<Sleeper>();
  return {
    waiting,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(aborted(signal));
          return;
        }
        const stop = (): void => {
          waiting.delete(sleeper);
          reject(aborted(signal));
        };
        const sleeper: Sleeper = {
          at: now() + Math.max(0, ms),
          wake() {
            waiting.delete(sleeper);
            signal?.removeEventListener('abort', stop);
            resolve();
          },
        };
        signal?.addEventListener('abort', stop, { once: true });
        waiting.add(sleeper);
      }),
  };
}
