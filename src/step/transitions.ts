import type { StepRecord, StepState } from './record.ts';

const next: Readonly<Record<StepState, readonly StepState[]>> = {
  // `ended` where it waits between two tiers: something of it was at a Run.
  pending: ['approved', 'denied', 'expired', 'cancelled', 'superseded', 'refused', 'ended'],
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

/** What an approval with other arguments changes: always all three. */
export type StepEditChange = {
  readonly [Part in 'run' | 'digest' | 'edited']: NonNullable<StepRecord[Part]>;
};

/** What may change of a step. What runs changes only by an edit. */
export type StepChange = Partial<
  Omit<StepRecord, 'id' | 'revision' | 'schema' | 'owner' | keyof StepEditChange>
> &
  (StepEditChange | { readonly [Part in keyof StepEditChange]?: never });

/**
 * The next revision of a step. A change that the machine does not have is a fault of this library: of the
 * state, or of what runs at any moment but its approval.
 *
 * @throws TypeError for such a change
 */
export function advance(step: StepRecord, change: StepChange): StepRecord {
  if (change.state !== undefined && change.state !== step.state && !next[step.state].includes(change.state)) {
    throw new TypeError(`A step cannot go from ${step.state} to ${change.state}.`);
  }
  if (change.run !== undefined && (step.state !== 'pending' || change.state !== 'approved')) {
    throw new TypeError(`What a step runs can be edited only as it is approved, not as it is ${step.state}.`);
  }
  return { ...step, ...change, revision: step.revision + 1 };
}
