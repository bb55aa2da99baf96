import type { StepRecord, StepState } from './record.ts';

const next: Readonly<Record<StepState, readonly StepState[]>> = {
  pending: ['approved', 'denied', 'expired', 'cancelled', 'superseded', 'refused'],
  // Back to pending, from here or between two tiers, when the grant that approved it was revoked.
  approved: ['submitting', 'pending', 'expired', 'cancelled', 'superseded', 'refused', 'ended'],
  submitting: ['submitted', 'pending', 'ended', 'cancelled', 'expired'],
  submitted: ['running', 'submitting', 'pending', 'ended'],
  running: ['ended'],
  ended: [],
  denied: [],
  expired: [],
  cancelled: [],
  superseded: [],
  refused: [],
};

/** Whether `value` names a state of a step. */
export function isStepState(value: unknown): value is StepState {
  return typeof value === 'string' && Object.hasOwn(next, value);
}

/** Whether a step in this state never changes again. */
export function isStepEnd(state: StepState): boolean {
  return next[state].length === 0;
}

/**
 * The next revision of a step. A change of state that the machine does not have is a fault of this library.
 *
 * @throws TypeError for such a change
 */
export function advance(
  step: StepRecord,
  change: Partial<Omit<StepRecord, 'id' | 'revision' | 'schema' | 'run' | 'digest' | 'owner'>>,
): StepRecord {
  if (change.state !== undefined && change.state !== step.state && !next[step.state].includes(change.state)) {
    throw new TypeError(`A step cannot go from ${step.state} to ${change.state}.`);
  }
  return { ...step, ...change, revision: step.revision + 1 };
}
