import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  allowanceKeyOf,
  allowancePeriods,
  chargeOf,
  periodOf,
  usedOf,
  withHold,
  withoutHolds,
  worstCaseOf,
} from '../../src/approval/allowance.ts';
import { isoTime } from '../../src/clock.ts';
import type { AllowanceRecord } from '../../src/store/allowance.ts';
import { ann, ben } from '../support/harness.ts';
import { someOwner, someRun } from '../support/step.ts';

const at = (time: string): number => Date.parse(time);

describe('periods are those of the calendar, in UTC', () => {
  test.each([
    ['hour', '2026-03-01T13:59:59.999Z', '2026-03-01T13:00:00.000Z', '2026-03-01T14:00:00.000Z'],
    ['day', '2024-02-28T23:59:59.999Z', '2024-02-28T00:00:00.000Z', '2024-02-29T00:00:00.000Z'],
    ['day', '2026-12-31T00:00:00.000Z', '2026-12-31T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    ['week', '2026-03-01T12:00:00.000Z', '2026-02-23T00:00:00.000Z', '2026-03-02T00:00:00.000Z'],
    ['week', '2026-03-02T00:00:00.000Z', '2026-03-02T00:00:00.000Z', '2026-03-09T00:00:00.000Z'],
    ['week', '2027-01-01T00:00:00.000Z', '2026-12-28T00:00:00.000Z', '2027-01-04T00:00:00.000Z'],
    ['month', '2024-02-29T12:00:00.000Z', '2024-02-01T00:00:00.000Z', '2024-03-01T00:00:00.000Z'],
    ['month', '2026-12-31T23:59:59.999Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
  ] as const)('%s of %s', (period, now, start, renews) => {
    const found = periodOf(period, at(now));
    expect([isoTime(found.start), isoTime(found.renews)]).toEqual([start, renews]);
  });

  test('each moment is in exactly one, and the next begins where it renews', () => {
    const moment = fc.integer({ min: 0, max: at('2100-01-01T00:00:00Z') });
    fc.assert(
      fc.property(fc.constantFrom(...allowancePeriods), moment, (period, now) => {
        const { start, renews } = periodOf(period, now);
        expect(start <= now && now < renews).toBe(true);
        expect(periodOf(period, renews).start).toBe(renews);
        expect(periodOf(period, renews - 1).start).toBe(start);
      }),
    );
  });

  test('C59: an account is of one person, project, agent and period', () => {
    const now = at('2026-01-05T00:30:00Z');
    const owners = [
      someOwner,
      { ...ben, agent: null },
      { ...someOwner, project: ben.project },
      { ...ann, agent: null },
    ];
    const keys = owners.flatMap((owner) => [
      ...allowancePeriods.map((period) => allowanceKeyOf(owner, period, now)),
      allowanceKeyOf(owner, 'hour', now + 3_600_000),
    ]);
    expect(new Set(keys).size).toBe(keys.length);
    expect(allowanceKeyOf(someOwner, 'hour', now + 1_799_999)).toBe(allowanceKeyOf(someOwner, 'hour', now));
  });
});

describe('what a run may be charged', () => {
  test('the worst case is whole seconds, and no less than its limit', () => {
    for (const [wall_ms, seconds] of [
      [1, 1],
      [999, 1],
      [1000, 1],
      [1001, 2],
      [30_000, 30],
    ] as const) {
      expect(worstCaseOf({ run: { ...someRun, limits: { wall_ms, mem_bytes: 1 } } })).toBe(seconds);
    }
  });

  const job = (seconds: number) => ({ job: { seconds } as never });
  test.each<[string, Parameters<typeof chargeOf>[0], number]>([
    ['did not run: nothing, whatever Run says', { executed: false, ...job(9) }, 0],
    ['ran: what Run metered', { executed: true, ...job(1.234) }, 1.234],
    ['ran for nothing', { executed: true, ...job(0) }, 0],
    ['ran, and Run says more than it was let: what was held', { executed: true, ...job(1e9) }, 10],
    ['ran, and Run says no number', { executed: true, ...job(Number.NaN) }, 10],
    ['ran, and Run pays back', { executed: true, ...job(-5) }, 10],
    ['ran, and no job is known', { executed: true }, 10],
    ['may have run: all that was held', { executed: 'unknown', ...job(1) }, 10],
  ])('%s', (_, end, charged) => {
    expect(chargeOf(end, 10)).toBe(charged);
  });
});

test('of any holds and ends the sum is exact, never above the ceiling, and each step counts once', () => {
  const step = fc.integer({ min: 0, max: 9 }).map((n) => `stp_${n}`);
  const move = fc.oneof(
    fc.record({ step, hold: fc.integer({ min: 1, max: 30 }) }),
    fc.record({ step, spent: fc.integer({ min: 0, max: 30_000 }) }),
  );
  fc.assert(
    fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
      let record: AllowanceRecord | undefined;
      let spentMs = 0;
      for (const one of moves) {
        if ('hold' in one) {
          if (record !== undefined && Object.hasOwn(record.held, one.step)) continue;
          record = withHold(record, 'k', one.step, one.hold, 60) ?? record;
        } else if (record !== undefined) {
          const held: number | undefined = record.held[one.step];
          const charge = Math.min(one.spent / 1000, held ?? 0);
          record = withoutHolds(record, new Map([[one.step, charge]]));
          spentMs += Math.round(charge * 1000);
        }
        expect(record?.spent ?? 0).toBe(spentMs / 1000);
        expect(usedOf(record)).toBeLessThanOrEqual(60);
      }
    }),
  );
});

test('a hold that is not there gives nothing back', () => {
  const record = { key: 'k', revision: 3, spent: 5, held: { stp_1: 2 } };
  expect(withoutHolds(record, new Map([['constructor', 2]]))).toEqual({ ...record, schema: 1, revision: 4 });
});
