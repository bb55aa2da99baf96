import type { Clock } from '../../src/clock.ts';
import type { Random } from './random.ts';
import type { StoreTrouble } from './schedule.ts';
import type { Stage } from './stage.ts';

/** One life of a process: everything it does outside of itself goes through here, and ends when it dies. */
export interface Life {
  readonly alive: boolean;
  /** Fires when it dies: its connections break. */
  readonly gone: AbortSignal;
  readonly clock: Clock;
  /** An await point. Never settles for the dead. */
  point(what: string, ms?: number): Promise<void>;
  /** A call of a port: an await point before its effect and one after it. */
  pass<T>(what: string, effect: () => Promise<T>, trouble?: Trouble): Promise<T>;
  kill(): void;
}

/** What may befall one call of a port. */
export interface Trouble {
  readonly ms?: number;
  readonly fail?: 'before' | 'after' | undefined;
}

/** What a life is born with. */
export interface Birth {
  readonly stage: Stage;
  /** What its clock is ahead of the true time, now. */
  readonly skew: () => number;
  /** Hears of each await point; `true`: it dies there. */
  readonly onPoint: (what: string) => boolean;
}

/** The calls of the dead never settle: what waits for them is garbage, as in a process that was killed. */
const never = <T>(): Promise<T> => new Promise<T>(() => {});

export function createLife({ stage, skew, onPoint }: Birth): Life {
  const gone = new AbortController();
  const isDead = (): boolean => gone.signal.aborted;
  const kill = (): void => gone.abort();

  const point = async (what: string, ms = 0): Promise<void> => {
    if (isDead()) return never();
    if (onPoint(what)) {
      kill();
      return never();
    }
    await stage.hold(ms);
    return isDead() ? never() : undefined;
  };

  return {
    get alive() {
      return !isDead();
    },
    gone: gone.signal,
    clock: {
      now: () => stage.clock.now() + skew(),
      async sleep(ms, signal) {
        if (isDead() || onPoint('clock.sleep')) {
          kill();
          return never();
        }
        try {
          await stage.clock.sleep(ms, signal);
        } catch (error) {
          if (!isDead()) throw error;
        }
        return isDead() ? never() : undefined;
      },
    },
    point,
    async pass(what, effect, { ms = 0, fail } = {}) {
      await point(`${what} before`, ms);
      if (fail === 'before') throw new Error('The port failed on order, before it did anything.');
      try {
        return await effect();
      } finally {
        await point(`${what} after`);
        // biome-ignore lint/correctness/noUnsafeFinally: the answer is lost, whatever it was
        if (fail === 'after') throw new Error('The port failed on order, after it had done its work.');
      }
    },
    kill,
  };
}

/** What the schedule's store does to one call. */
export function storeTrouble(random: Random, trouble: StoreTrouble): Trouble {
  const isFailing = trouble.fail > 0 && random.chance(trouble.fail);
  return {
    ms: trouble.slow > 0 && random.chance(trouble.slow) ? trouble.slowMs : 0,
    fail: isFailing ? random.pick(['before', 'after'] as const) : undefined,
  };
}
