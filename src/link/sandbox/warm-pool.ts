import type { Ground } from './ground.ts';
import type { ToolRun } from './types.ts';
import { fitsWarm, startWarm, type WarmSandbox } from './warm.ts';

/** The sandboxes that were started ahead. Each is given out once, and never comes back. */
export interface WarmPool {
  /**
   * The oldest one, when it is up; it is the caller's to release. `undefined` where there is none, it did not
   * come up, or the run has a network or limits that are not those of the pool.
   */
  take(run: ToolRun): Promise<WarmSandbox | undefined>;
  /** Discards one that was taken, whatever became of its job. Nobody has to wait for that but `close`. */
  release(warm: WarmSandbox): void;
  /** Starts what is missing. */
  fill(): void;
  /** Discards what waits, starts no more, and waits until nothing is left of any. */
  close(): Promise<void>;
}

interface Place {
  readonly starting: Promise<WarmSandbox | undefined>;
  /** Gives the start up. */
  readonly stop: AbortController;
  readonly timer: NodeJS.Timeout;
}

/**
 * Makes an empty pool.
 *
 * @param size most that wait at once; 0 is a pool that never gives one
 * @param maxAgeMs an older one is exchanged
 */
export function createWarmPool(ground: Ground, size: number, maxAgeMs = 60_000): WarmPool {
  const places = new Set<Place>();
  const leaving = new Set<Promise<void>>();
  let closed = false;

  // A folder that cannot be removed goes with the sandbox's own.
  const leave = (work: Promise<void>): void => {
    const left = work.catch(() => undefined).finally(() => leaving.delete(left));
    leaving.add(left);
  };

  const drop = async ({ starting, stop, timer }: Place): Promise<void> => {
    clearTimeout(timer);
    stop.abort();
    await (await starting)?.discard();
  };

  const remove = (place: Place): void => {
    if (places.delete(place)) leave(drop(place));
  };

  const start = (): void => {
    const stop = new AbortController();
    const starting = startWarm(ground, stop.signal);
    const exchange = (): void => {
      remove(place);
      fill();
    };
    const place: Place = { starting, stop, timer: setTimeout(exchange, maxAgeMs).unref() };
    places.add(place);
    // One that did not come up, or died, is not what the next job should find; the job after it fills the place.
    void starting.then(async (warm) => {
      await warm?.launched.exit;
      remove(place);
    });
  };

  const fill = (): void => {
    while (!closed && places.size < size) start();
  };

  return {
    fill,
    release: (warm) => leave(warm.discard()),
    async take(run) {
      const [place] = places;
      if (place === undefined || run.signal?.aborted || !fitsWarm(run)) return undefined;
      places.delete(place);
      clearTimeout(place.timer);
      const giveUp = (): void => place.stop.abort();
      run.signal?.addEventListener('abort', giveUp);
      try {
        return await place.starting;
      } finally {
        run.signal?.removeEventListener('abort', giveUp);
      }
    },
    async close() {
      closed = true;
      for (const place of [...places]) remove(place);
      await Promise.all(leaving);
    },
  };
}
