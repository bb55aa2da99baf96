import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import type { StepRecord, StepState } from '../../src/step/record.ts';
import { advance, isStepEnd, isStepState } from '../../src/step/transitions.ts';
import { someRun, someStep, someTime } from '../support/step.ts';

const states: readonly StepState[] = [
  'pending',
  'approved',
  'submitting',
  'submitted',
  'running',
  'ended',
  'denied',
  'expired',
  'cancelled',
  'superseded',
  'refused',
];
const ends: readonly StepState[] = ['ended', 'denied', 'expired', 'cancelled', 'superseded', 'refused'];
// What has reached a Run never goes back to before it.
const sent: readonly StepState[] = ['submitting', 'submitted', 'running'];

function tried(step: StepRecord, state: StepState): StepRecord | undefined {
  try {
    return advance(step, { state });
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return undefined;
  }
}

describe('the states of a step', () => {
  test('an end has no successor, and only ends have none', () => {
    for (const from of states) {
      const successors = states.filter((to) => to !== from && tried(someStep({ state: from }), to));
      expect([from, successors.length === 0]).toEqual([from, ends.includes(from)]);
      expect(isStepEnd(from)).toBe(ends.includes(from));
    }
  });

  test('along any path each change counts the revision by one, nothing leaves an end, and nothing runs unapproved', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...states), { maxLength: 40 }), (path) => {
        let step = someStep();
        const seen: StepState[] = [step.state];
        for (const state of path) {
          const next = tried(step, state);
          if (next === undefined) continue;
          expect(next).toEqual({ ...step, state, revision: step.revision + 1 });
          if (ends.includes(step.state)) expect(next.state).toBe(step.state);
          if (sent.includes(step.state))
            expect([...sent, 'pending', 'ended', 'cancelled', 'expired']).toContain(next.state);
          step = next;
          seen.push(step.state);
        }
        seen.forEach((state, at) => {
          if (at > 0 && sent.includes(state)) expect(['approved', ...sent]).toContain(seen[at - 1]);
        });
      }),
      { numRuns: 500 },
    );
  });

  test('what runs changes only as a pending step is approved', () => {
    const run = { ...someRun, arguments: { title: 'edited' } };
    const edited = { digest: 'c'.repeat(64), by: someStep().owner.subject, at: isoTime(someTime) };
    const edit = { run, digest: 'd'.repeat(64), edited };
    for (const from of states) {
      for (const to of [undefined, ...states]) {
        const change = { ...(to && { state: to }), ...edit };
        if (from === 'pending' && to === 'approved') {
          expect(advance(someStep(), change)).toMatchObject({ state: 'approved', ...edit });
        } else expect(() => advance(someStep({ state: from }), change)).toThrow(TypeError);
      }
    }
  });

  test('from pending every state can be reached', () => {
    const reached = new Set<StepState>(['pending']);
    for (const from of reached) {
      for (const to of states) if (tried(someStep({ state: from }), to)) reached.add(to);
    }
    expect([...reached].sort()).toEqual([...states].sort());
  });

  test('only the states are states', () => {
    for (const state of states) expect(isStepState(state)).toBe(true);
    for (const other of ['constructor', '__proto__', 'toString', '', 'PENDING', null, 0, ['pending']]) {
      expect(isStepState(other)).toBe(false);
    }
  });
});
