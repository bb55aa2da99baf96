import type { Ground } from './ground.ts';
import type { ToolRun } from './types.ts';
import { fitsWarm, startWarm, type WarmSandbox } from './warm.ts';

/** The sandboxes that were started ahead. Each is given out once, and never comes back. */
export interface WarmPool {
  /**
   * The oldest one, when it is up; it is the caller's to discard. `undefined` where there is none, it did not
   * come up, or the run's limits are not those of the pool.
   */
  take(run: ToolRun): Promise<WarmSandbox | undefined>;
  /** Starts what is missing. */
  fill(): void;
  /** Discards what waits, and starts no more. */
  close(): Promise<void>;
}

interface Place {
  readonly starting: Promise<WarmSandbox | undefined>;
  /** Gives the start up, or discards what came of it. */
  drop(): Promise<void>;
  readonly giveUp: () => void;
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

  const remove = (place: Place): void => {
    if (!places.delete(place)) return;
    const left = place
      .drop()
      .catch(() => undefined)
      .finally(() => leaving.delete(left));
    leaving.add(left);
  };

  const start = (): void => {
    const stop = new AbortController();
    const starting = startWarm(ground, stop.signal);
    const place: Place = {
      starting,
      giveUp: () => stop.abort(),
      async drop() {
        clearTimeout(place.timer);
        stop.abort();
        await (await starting)?.discard();
      },
      timer: setTimeout(() => {
        remove(place);
        fill();
      }, maxAgeMs).unref(),
    };
    places.add(place);
    // One that did not come up, or died, is not what the next job should find.
    void starting.then((warm) => (warm?.launched.exit ?? Promise.resolve()).then(() => remove(place)));
  };

  const fill = (): void => {
    while (!closed && places.size < size) start();
  };

  return {
    fill,
    async take(run) {
      const [place] = places;
      if (place === undefined || !fitsWarm(run.limits)) return undefined;
      places.delete(place);
      clearTimeout(place.timer);
      run.signal?.addEventListener('abort', place.giveUp);
      try {
        return await place.starting;
      } finally {
        run.signal?.removeEventListener('abort', place.giveUp);
      }
    },
    async close() {
      closed = true;
      for (const place of [...places]) remove(place);
      await Promise.all(leaving);
    },
  };
}
