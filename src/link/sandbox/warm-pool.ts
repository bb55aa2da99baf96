import { randomInt } from 'node:crypto';
import { setImmediate as afterAnswer } from 'node:timers/promises';
import type { Ground } from './ground.ts';
import type { ToolRun } from './types.ts';
import { startWarm, type WarmSandbox } from './warm.ts';
import { defaultClass, shareOut, type WarmClass, warmClass } from './warm-class.ts';

/** The sandboxes that were started ahead. Each is given out once, and never comes back. */
export interface WarmPool {
  /**
   * The oldest one of the run's class, when it is up; it is the caller's to release. `undefined` where there is
   * none, or it did not come up.
   */
  take(run: ToolRun): Promise<WarmSandbox | undefined>;
  /** Discards one that was taken, whatever became of its job. Nobody has to wait for that but `close`. */
  release(warm: WarmSandbox): void;
  /** Starts what is missing, and discards what is no longer wanted. */
  fill(): void;
  /** The same a while after a run, so that the age of what is started does not tell when that was. */
  refill(): void;
  /** Discards what waits, starts no more, and waits until nothing is left of any. */
  close(): Promise<void>;
}

/**
 * When a pool starts its sandboxes. A tool can read from its process how old its sandbox is, and so when it was
 * started: were that right after each run, and the exchange at one age, it would know to the millisecond when runs
 * before it ended. So both are drawn. What is left to it: that within `restMs` before the start a run ended or an
 * older sandbox was exchanged, though not which of them; and, from whether its own was started ahead at all, whether
 * one of its class ran in the last five minutes, and as many as there are places in the last second. A run for which
 * none waits yet has one built for it, in about the time for which it would have waited.
 */
export interface WarmPoolTimes {
  /** The least and the most milliseconds after which one is exchanged, drawn for each. Default 20 000, 60 000. */
  readonly ageMs?: readonly [least: number, most: number];
  /** Most milliseconds after a run before what is missing is started, drawn each time; 0: at once. Default 1000. */
  readonly restMs?: number;
  /** Draws a whole number, both ends included. Default: from the system's source of randomness. */
  readonly draw?: (least: number, most: number) => number;
}

/** How much a pool holds, and for how long. */
export interface WarmPoolOptions extends WarmPoolTimes {
  /** Most sandboxes that wait at once; 0 is a pool that never gives one. */
  readonly places: number;
  /** Most memory of all that wait, in bytes, each counted with all that its runs may have. */
  readonly bytes: number;
  /** Milliseconds after its last run for which a class is wanted; the default one always is. Default 300 000. */
  readonly recallMs?: number;
}

interface Place {
  readonly kind: WarmClass;
  readonly starting: Promise<WarmSandbox | undefined>;
  /** Gives the start up. */
  readonly stop: AbortController;
  readonly timer: NodeJS.Timeout;
}

/** Makes an empty pool. */
export function createWarmPool(ground: Ground, options: WarmPoolOptions): WarmPool {
  const { places: most, bytes, recallMs = 300_000 } = options;
  const {
    ageMs = [20_000, 60_000],
    restMs = 1000,
    draw = (least, upTo) => randomInt(least, upTo + 1),
  } = options;
  const places = new Set<Place>();
  const leaving = new Set<Promise<void>>();
  /** The classes of the last runs, the latest last, and when that was. */
  const asked = new Map<string, { kind: WarmClass; at: number }>();
  /** The classes one of which lacked a layer: each of their runs has a sandbox built for it. */
  const barred = new Set<string>();
  let resting: NodeJS.Timeout | undefined;
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

  const start = (kind: WarmClass): void => {
    const stop = new AbortController();
    // Not before whoever waits for a run has its end: starting a process stops ours for a while.
    const starting = afterAnswer()
      .then(() => startWarm(ground, kind, stop.signal))
      .catch(() => void barred.add(kind.key));
    const exchange = (): void => {
      remove(place);
      fill();
    };
    const place: Place = { kind, starting, stop, timer: setTimeout(exchange, draw(...ageMs)).unref() };
    places.add(place);
    // One that did not come up, or died, is not what the next job should find; the job after it fills the place.
    void starting.then(async (warm) => {
      await warm?.launched.exit;
      remove(place);
    });
  };

  const learn = (kind: WarmClass): void => {
    asked.delete(kind.key);
    asked.set(kind.key, { kind, at: performance.now() });
    // More classes than places are never wanted.
    const [oldest] = asked.keys();
    if (asked.size > most && oldest !== undefined) asked.delete(oldest);
  };

  const wanted = (): WarmClass[] => {
    const lately = [...asked.values()].filter(({ at }) => performance.now() - at < recallMs).reverse();
    const others = lately.map(({ kind }) => kind).filter(({ key }) => key !== defaultClass.key);
    const classes = [defaultClass, ...others].filter(({ key }) => !barred.has(key));
    return shareOut(classes, most, bytes);
  };

  const fill = (): void => {
    if (closed) return;
    const missing = wanted();
    for (const place of [...places]) {
      const at = missing.findIndex(({ key }) => key === place.kind.key);
      if (at === -1) remove(place);
      else missing.splice(at, 1);
    }
    missing.forEach(start);
  };

  return {
    fill,
    refill() {
      if (restMs === 0) return fill();
      resting ??= setTimeout(
        () => {
          resting = undefined;
          fill();
        },
        draw(0, restMs),
      ).unref();
    },
    release: (warm) => leave(afterAnswer().then(warm.discard)),
    async take(run) {
      if (closed || run.signal?.aborted) return undefined;
      const kind = warmClass(run);
      learn(kind);
      const place = [...places].find((one) => one.kind.key === kind.key);
      if (place === undefined) return undefined;
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
      clearTimeout(resting);
      for (const place of [...places]) remove(place);
      await Promise.all(leaving);
    },
  };
}
