import type { Clock } from '../../src/clock.ts';
import { createSleepers } from '../../src/testing/sleepers.ts';
import type { Random } from './random.ts';

/** Time and order of one schedule: nobody goes on, and no time passes, but by its choice. */
export interface Stage {
  /** The true time, which Run goes by. */
  readonly clock: Clock;
  /** A number that counts up with everything that happens. */
  readonly moves: number;
  /** An await point: settles when it is chosen among all that wait, `ms` from now at the earliest. */
  hold(ms?: number): Promise<void>;
  /** Work outside of this thread's own turns, such as a database's: nothing is chosen until it is done. */
  flight<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Goes on until `done`, or until so many milliseconds have passed on its clock. Whether it is done.
   *
   * @param next does the next act if one is due; answers when the next one is (`undefined`: there is none)
   */
  play(done: () => boolean, maxMs: number, next?: Acts): Promise<boolean>;
}

/** What is still to be done from outside, in its order. */
export interface Acts {
  /** The time of the next one; `undefined` when there is none. */
  dueAt(): number | undefined;
  begin(): void;
}

const startMs = 1_767_225_600_000;
const maxMoves = 20_000;

export function createStage(random: Random): Stage {
  let now = startMs;
  let moves = 0;
  let flying = 0;
  const waiting: (() => void)[] = [];
  const { waiting: sleepers, sleep } = createSleepers(() => now);

  const turn = async (): Promise<void> => {
    do await new Promise((resolve) => setImmediate(resolve));
    while (flying > 0);
  };

  // Whoever waits; several at once, so that a database sees them at once.
  const release = (): void => {
    for (let n = Math.min(waiting.length, random.pick([1, 1, 2, 3])); n > 0; n -= 1) {
      const at = random.int(waiting.length);
      const chosen = waiting[at] as () => void;
      waiting[at] = waiting.at(-1) as () => void;
      waiting.pop();
      moves += 1;
      chosen();
    }
  };
  const passTime = (to: number): void => {
    now = Math.max(now, to);
    for (const sleeper of sleepers) {
      if (sleeper.at > now) continue;
      moves += 1;
      sleeper.wake();
    }
  };

  return {
    clock: { now: () => now, sleep },
    get moves() {
      return moves;
    },
    async hold(ms = 0) {
      if (ms > 0) await sleep(ms);
      await new Promise<void>((resolve) => void waiting.push(resolve));
    },
    async flight(work) {
      flying += 1;
      try {
        return await work();
      } finally {
        flying -= 1;
      }
    },
    async play(done, maxMs, next) {
      const end = now + maxMs;
      for (let n = 0; n < maxMoves; n += 1) {
        await turn();
        const due = next?.dueAt();
        const isDue = due !== undefined && due <= now;
        if (due === undefined && done()) return true;
        if (isDue && (waiting.length === 0 || random.chance(0.3))) {
          moves += 1;
          next?.begin();
        } else if (waiting.length > 0) {
          release();
        } else {
          // Once more, for what needed two turns.
          await turn();
          if (waiting.length > 0) continue;
          const wakes = [...sleepers].map(({ at }) => at);
          const at = Math.min(due ?? Number.POSITIVE_INFINITY, ...wakes);
          if (at > end) return done();
          passTime(at);
        }
      }
      return false;
    },
  };
}
