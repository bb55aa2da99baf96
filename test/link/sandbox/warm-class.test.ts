import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { cpuSeconds } from '../../../src/link/sandbox/limits.ts';
import { requireSandboxOptions, warmOptions } from '../../../src/link/sandbox/options.ts';
import { defaultClass, shareOut, warmClass } from '../../../src/link/sandbox/warm-class.ts';
import { defaultLimits, nets } from '../../../src/skill/caps.ts';

const mebibyte = 1_048_576;
const ofMemory = (mem_bytes: number) => warmClass({ net: 'deny', limits: { ...defaultLimits, mem_bytes } });
const places = (classes: readonly { key: string }[]) => classes.map(({ key }) => key);

describe('the class of a run', () => {
  it('is one for each net, each memory and each count of processor seconds', () => {
    const runs = nets.flatMap((net) =>
      [64, 128].flatMap((mib) =>
        [1, 1000, 1001, 30_000].map((wall_ms) => ({ net, limits: { wall_ms, mem_bytes: mib * mebibyte } })),
      ),
    );
    // 1 ms and 1 s come to the same seconds.
    expect(new Set(runs.map((run) => warmClass(run).key)).size).toBe(3 * 2 * 3);
  });

  it('is told the kernel as its runs would be, and covers the longest of them', () => {
    for (const wall_ms of [1, 999, 1000, 1001, 9001, 30_000]) {
      const limits = { wall_ms, mem_bytes: 5 };
      const kind = warmClass({ net: 'public', limits });
      expect(kind).toMatchObject({ net: 'public', limits: { mem_bytes: 5 } });
      expect(cpuSeconds(kind.limits)).toBe(cpuSeconds(limits));
      expect(kind.limits.wall_ms).toBeGreaterThanOrEqual(wall_ms);
    }
  });
});

describe('the places', () => {
  const [small, large] = [ofMemory(64 * mebibyte), ofMemory(256 * mebibyte)];

  it('go to one class after the other, the default one first', () => {
    const classes = [defaultClass, small, large];
    expect(shareOut(classes, 0, 1 << 30)).toEqual([]);
    expect(shareOut(classes, 1, 1 << 30)).toEqual([defaultClass]);
    expect(shareOut(classes, 2, 1 << 30)).toEqual([defaultClass, small]);
    expect(places(shareOut(classes, 5, 1 << 30))).toEqual(
      places([defaultClass, small, large, defaultClass, small]),
    );
    expect(shareOut([defaultClass], 3, 1 << 30)).toEqual([defaultClass, defaultClass, defaultClass]);
    expect(shareOut([], 3, 1 << 30)).toEqual([]);
  });

  it('never come to more memory than there is, and leave a class out that does not fit', () => {
    expect(shareOut([defaultClass, large, small], 8, 200 * mebibyte)).toEqual([defaultClass, small]);
    expect(shareOut([defaultClass, small], 8, 128 * mebibyte - 1)).toEqual([small]);
    expect(shareOut([defaultClass], 8, 0)).toEqual([]);
    expect(shareOut([small], 8, 130 * mebibyte)).toEqual([small, small]);
  });
});

describe('the options of what waits', () => {
  it('are two places and 512 MiB, or a quarter of the machine, where nothing is said', () => {
    const { places, bytes } = warmOptions({});
    expect(places).toBe(2);
    expect(bytes).toBe(Math.min(512 * mebibyte, Math.floor(totalmem() / 4)));
    expect(warmOptions({ warm: 0, warmBytes: 0 })).toEqual({ places: 0, bytes: 0 });
  });

  it.each([{ warm: 9 }, { warm: -1 }, { warm: 1.5 }, { warmBytes: -1 }, { warmBytes: 2 ** 31 + 1 }])(
    'are never %j',
    (options) => {
      expect(() => requireSandboxOptions(options)).toThrow(
        expect.objectContaining({ code: 'option_invalid', message: expect.stringMatching(/^warm/) }),
      );
    },
  );
});
