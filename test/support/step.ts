import { newId } from '../../src/ids.ts';
import type { StepEnd } from '../../src/step/end.ts';
import type { StepOwner, StepRecord, StepRun } from '../../src/step/record.ts';
import { isStepEnd } from '../../src/step/transitions.ts';
import { agentId, ann } from './harness.ts';

/** The clock of records that are made by hand. */
export const someTime = 1_767_225_600_000;

export const someOwner: StepOwner = { ...ann, agent: agentId };

export const someRun: StepRun = {
  slug: 'slugify-a-title',
  version: '1.0.0',
  hash: 'a'.repeat(64),
  tool: 'slugify',
  entry: 'slugify.js',
  pins: [{ name: 'slugify.js', mediaId: 'med_01JAB2C3D4E5F6G7H8J9K0MN01', sha256: 'b'.repeat(64), size: 10 }],
  arguments: { title: 'a', shorten: false },
  net: 'deny',
  limits: { wall_ms: 10_000, mem_bytes: 134_217_728 },
};

/** An end, of whatever state. */
export const someEnd: StepEnd = {
  status: 'cancelled',
  executed: false,
  message: 'Nothing ran.',
  at: '2026-01-01T00:00:00.000Z',
};

/** A step as a gateway would record it: pending, or in the state that it is given. */
export function someStep(change: Partial<StepRecord> = {}): StepRecord {
  return {
    schema: 2,
    id: newId('stp', someTime),
    revision: 1,
    state: 'pending',
    owner: someOwner,
    session: 's',
    turn: 't',
    call: { id: 'c1', name: 'slugify' },
    replayKey: null,
    run: someRun,
    digest: 'c'.repeat(64),
    target: 'slugify-a-title@1.0.0 slugify',
    why: '',
    canAlways: true,
    facts: null,
    createdAt: someTime,
    expiresAt: someTime + 900_000,
    decision: null,
    edited: null,
    hold: null,
    attempts: [],
    lease: null,
    cancelAsked: false,
    end: isStepEnd(change.state ?? 'pending') ? someEnd : null,
    ...change,
  };
}
