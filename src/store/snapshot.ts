import { isSkillRunError, SkillRunError } from '../errors.ts';
import { isObject } from '../skill/json.ts';
import { readStep } from '../step/read.ts';
import type { StepRecord } from '../step/record.ts';
import type { AllowanceRecord } from './allowance.ts';
import type { AuditEntry, AuditScope } from './audit.ts';
import type { Grant } from './grant.ts';
import { isScope, readAllowance, readEntry, readGrant } from './read.ts';

/** Everything in a memory store. */
export interface Snapshot {
  readonly steps: readonly StepRecord[];
  readonly grants: readonly Grant[];
  readonly audit: readonly (readonly [AuditScope, readonly AuditEntry[]])[];
  readonly allowance: readonly AllowanceRecord[];
}

const version = 'openvibe-skill-run.memory@2';
// It had no allowances, and steps of schema 1.
const older = 'openvibe-skill-run.memory@1';

/** A snapshot as JSON text. */
export function writeSnapshot(snapshot: Snapshot): string {
  return JSON.stringify({ store: version, ...snapshot });
}

/**
 * Reads what {@link writeSnapshot} wrote. It is the host's own text: its shape is checked, so that what is no
 * snapshot is told at once; whether somebody has changed it is not.
 *
 * @throws `snapshot_invalid`; `step_schema_unknown` and `store_schema_unknown` for what a newer version wrote
 */
export function readSnapshot(text: string): Snapshot {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && (value.store === version || value.store === older)) {
      return {
        steps: listOf(value.steps, readStep),
        grants: listOf(value.grants, readGrant),
        audit: listOf(value.audit, readChain),
        allowance: value.store === older ? [] : listOf(value.allowance, readAllowance),
      };
    }
  } catch (error) {
    if (isSkillRunError(error, 'step_schema_unknown') || isSkillRunError(error, 'store_schema_unknown'))
      throw error;
    // Told below, in one way for every text that is not a snapshot.
  }
  throw new SkillRunError(
    'snapshot_invalid',
    'The text is not a snapshot of this memory store, or of a version that this library does not read. Pass what snapshot() returned.',
  );
}

function readChain(value: unknown): readonly [AuditScope, readonly AuditEntry[]] {
  if (!Array.isArray(value) || value.length !== 2 || !isScope(value[0])) throw new TypeError('No chain.');
  return [value[0], listOf(value[1], readEntry)];
}

function listOf<T>(value: unknown, read: (part: unknown) => T): readonly T[] {
  if (!Array.isArray(value)) throw new TypeError('No list.');
  return value.map(read);
}
