import { SkillRunError } from '../errors.ts';
import { isObject } from '../skill/json.ts';
import type { StepRecord } from './record.ts';
import { isStepRecord } from './shape.ts';

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
  if (!isStepRecord(record)) throw invalid();
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
