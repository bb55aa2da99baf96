import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Ground } from '../../../src/link/sandbox/ground.ts';
import type { WarmSandbox } from '../../../src/link/sandbox/warm.ts';
import { createWarmPool, type WarmPool, type WarmPoolTimes } from '../../../src/link/sandbox/warm-pool.ts';
import { toolRun } from './help.ts';

// What is started ahead is a note of when that was.
vi.mock('../../../src/link/sandbox/warm.ts', () => ({
  startWarm: async () => ({
    born: performance.now(),
    launched: { exit: new Promise(() => undefined) },
    discard: async () => undefined,
  }),
}));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const second = 1000;
const open = (places: number, times: WarmPoolTimes): WarmPool =>
  createWarmPool({} as Ground, { places, bytes: 1 << 30, ...times });

/** The age of the sandbox that a run is given now, in milliseconds; `undefined` where one is built for it. */
async function age(pool: WarmPool): Promise<number | undefined> {
  const warm = (await pool.take(toolRun(''))) as (WarmSandbox & { born: number }) | undefined;
  return warm && performance.now() - warm.born;
}

/** What a run sees `at` a time of a pool with one place, whose one run before ended at `end`. */
async function seen(end: number, at: number, times: WarmPoolTimes): Promise<number | undefined> {
  const from = performance.now();
  const pool = open(1, times);
  const reach = (time: number) => vi.advanceTimersByTimeAsync(from + time - performance.now());
  pool.fill();
  await reach(end);
  await age(pool);
  pool.refill();
  await reach(at);
  const found = await age(pool);
  await pool.close();
  return found;
}

/** Numbers that look drawn, the same each time. */
function drawing(seed: number): (least: number, most: number) => number {
  let state = seed;
  return (least, most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return least + Math.floor((state / 2 ** 32) * (most - least + 1));
  };
}

/** Pearson's, from -1 to 1. */
function correlation(pairs: readonly (readonly [number, number])[]): number {
  const mean = (at: 0 | 1) => pairs.reduce((sum, pair) => sum + pair[at], 0) / pairs.length;
  const means = [mean(0), mean(1)] as const;
  const spread = (a: 0 | 1, b: 0 | 1) =>
    pairs.reduce((sum, pair) => sum + (pair[a] - means[a]) * (pair[b] - means[b]), 0);
  return spread(0, 1) / Math.sqrt(spread(0, 0) * spread(1, 1));
}

describe('the age of a sandbox', () => {
  it('is the same after runs that ended up to a second apart', async () => {
    for (const end of [0, 1, 250, 999, second]) {
      const draw = (least: number, most: number) => (least === 0 ? second - end : most);
      expect(await seen(end, 5 * second, { draw })).toBe(4 * second);
    }
  });

  it('does not tell of a run once one was exchanged', async () => {
    const draw = drawing(1);
    const pairs: [number, number][] = [];
    while (pairs.length < 400) {
      const end = draw(0, 20 * second);
      pairs.push([end, (await seen(end, 150 * second, { draw })) ?? Number.NaN]);
    }
    expect(Math.abs(correlation(pairs))).toBeLessThan(0.15);
    // As it would where one is exchanged at a set age, and the next one is started with the end of a run.
    for (const end of [1, 250, 19_999]) {
      const set = { ageMs: [40 * second, 40 * second], restMs: 0 } as const;
      expect(await seen(end, 150 * second, set)).toBe((150 * second - end) % (40 * second));
    }
  });

  it('is drawn within its bounds', async () => {
    const drawn: [least: number, most: number, found: number][] = [];
    const real = drawing(7);
    const pool = open(1, {
      draw(least, most) {
        const found = real(least, most);
        drawn.push([least, most, found]);
        return found;
      },
    });
    pool.fill();
    await vi.advanceTimersByTimeAsync(600 * second);
    pool.refill();
    await pool.close();
    expect(drawn.length).toBeGreaterThan(10);
    expect(new Set(drawn.map(([least, most]) => `${least} ${most}`))).toEqual(
      new Set(['20000 60000', '0 1000']),
    );
  });
});

describe('a sequence of runs', () => {
  it('has as many that wait as there are places at once, and more within a second', async () => {
    const pool = open(2, { draw: (_, most) => most });
    pool.fill();
    const next = async (): Promise<boolean> => {
      const found = (await age(pool)) !== undefined;
      pool.refill();
      return found;
    };
    expect([await next(), await next(), await next()]).toEqual([true, true, false]);
    await vi.advanceTimersByTimeAsync(second - 1);
    expect(await next()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect([await next(), await next(), await next()]).toEqual([true, true, false]);
    await pool.close();
  });

  it('that is over starts no more', async () => {
    const pool = open(1, {});
    pool.refill();
    await pool.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
