import { SkillRunError } from '../errors.ts';
import { isId } from '../ids.ts';
import { isObject } from '../skill/json.ts';
import type { StepRecord } from './record.ts';
import { isStepState } from './transitions.ts';

/** The `schema` of the records that this version writes. */
export const stepSchema = 2;

/**
 * A stored record as this version knows it: one of an older schema is brought up to date. It is what a store
 * of the host's holds: its shape is checked; whether somebody has changed it is what its digest tells.
 *
 * @throws `step_schema_unknown` for a record that a newer version wrote, `step_invalid` for what is no record
 */
export function readStep(value: unknown): StepRecord {
  if (!isObject(value) || !Number.isSafeInteger(value.schema)) throw invalid();
  const schema = value.schema as number;
  if (schema < 1 || schema > stepSchema) {
    throw new SkillRunError(
      'step_schema_unknown',
      `A step is stored in schema ${schema}; this version reads 1 to ${stepSchema}. Use the version of this library that wrote it, or a newer one.`,
    );
  }
  // Schema 1 had neither facts nor edits nor holds.
  const record =
    schema === 1 ? { ...value, schema: stepSchema, facts: null, edited: null, hold: null } : value;
  if (!isStep(record)) throw invalid();
  return record.attempts.every(({ nodes }) => nodes !== undefined) ? record : withoutNodes(record);
}

// The first records of attempts did not have the nodes that were known: none counts but those of now.
function withoutNodes(step: StepRecord): StepRecord {
  return { ...step, attempts: step.attempts.map((attempt) => ({ ...attempt, nodes: attempt.nodes ?? [] })) };
}

function invalid(): SkillRunError {
  return new SkillRunError(
    'step_invalid',
    'What is stored as a step is none. Restore the store from a copy; nothing of it was run.',
  );
}

function isStep(value: Record<string, unknown>): value is Record<string, unknown> & StepRecord {
  return (
    isId('stp', value.id) &&
    Number.isSafeInteger(value.revision) &&
    isStepState(value.state) &&
    isOwner(value.owner) &&
    typeof value.session === 'string' &&
    typeof value.turn === 'string' &&
    isObject(value.call) &&
    (value.replayKey === null || typeof value.replayKey === 'string') &&
    isObject(value.run) &&
    isObject(value.run.arguments) &&
    typeof value.digest === 'string' &&
    Number.isFinite(value.createdAt) &&
    Number.isFinite(value.expiresAt) &&
    isNullOr(value.facts, isObject) &&
    isNullOr(value.decision, isObject) &&
    isNullOr(value.edited, isObject) &&
    isNullOr(value.hold, isHold) &&
    Array.isArray(value.attempts) &&
    value.attempts.every(isAttempt) &&
    isNullOr(value.lease, isObject) &&
    typeof value.cancelAsked === 'boolean' &&
    isNullOr(value.end, isObject)
  );
}

function isOwner(value: unknown): boolean {
  return (
    isObject(value) &&
    isId('usr', value.subject) &&
    isId('prj', value.project) &&
    isNullOr(value.agent, (agent) => isId('agt', agent))
  );
}

function isAttempt(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { nodes = [] } = value;
  return Array.isArray(nodes) && nodes.every((node) => typeof node === 'string');
}

function isHold(value: unknown): boolean {
  return isObject(value) && typeof value.key === 'string' && Number.isFinite(value.seconds);
}

function isNullOr(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === null || is(value);
}
