import { isSkillRunError, SkillRunError } from '../errors.ts';
import { isId } from '../ids.ts';
import { readStep } from '../step/read.ts';
import type { StepRecord } from '../step/record.ts';
import type { AllowanceRecord } from './allowance.ts';
import { type AuditEntry, type AuditScope, isAuditEntry } from './audit.ts';
import type { Grant } from './grant.ts';

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
 * @throws `snapshot_invalid`, or `step_schema_unknown` for steps that a newer version wrote
 */
export function readSnapshot(text: string): Snapshot {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value) && (value.store === version || value.store === older)) {
      const read = { allowance: [], ...value, steps: stepsOf(value.steps) };
      if (isSnapshot(read)) return read;
    }
  } catch (error) {
    if (isSkillRunError(error, 'step_schema_unknown')) throw error;
    // Told below, in one way for every text that is not a snapshot.
  }
  throw new SkillRunError(
    'snapshot_invalid',
    'The text is not a snapshot of this memory store, or of a version that this library does not read. Pass what snapshot() returned.',
  );
}

function stepsOf(value: unknown): StepRecord[] {
  if (!Array.isArray(value)) throw new TypeError('A snapshot has a list of steps.');
  return value.map(readStep);
}

function isSnapshot(value: Record<string, unknown>): value is Record<string, unknown> & Snapshot {
  return (
    isList(value.grants, isGrant) && isList(value.audit, isChain) && isList(value.allowance, isAllowance)
  );
}

function isAllowance(value: unknown): boolean {
  return (
    isObject(value) &&
    typeof value.key === 'string' &&
    Number.isSafeInteger(value.revision) &&
    Number.isFinite(value.spent) &&
    isObject(value.held) &&
    Object.values(value.held).every(Number.isFinite)
  );
}

function isGrant(value: unknown): boolean {
  return isObject(value) && isId('grt', value.id) && typeof value.key === 'string' && isScope(value.scope);
}

function isChain(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && isScope(value[0]) && isList(value[1], isAuditEntry);
}

function isScope(value: unknown): boolean {
  return isObject(value) && isId('usr', value.subject) && isId('prj', value.project);
}

function isList(value: unknown, isPart: (part: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isPart);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
