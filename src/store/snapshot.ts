import { SkillRunError } from '../errors.ts';
import { isId } from '../ids.ts';
import type { StepRecord } from '../step/record.ts';
import { isStepState } from '../step/transitions.ts';
import type { AuditEntry, AuditScope } from './audit.ts';
import type { Grant } from './grant.ts';

/** Everything in a memory store. */
export interface Snapshot {
  readonly steps: readonly StepRecord[];
  readonly grants: readonly Grant[];
  readonly audit: readonly (readonly [AuditScope, readonly AuditEntry[]])[];
}

const version = 'openvibe-skill-run.memory@1';

/** A snapshot as JSON text. */
export function writeSnapshot(snapshot: Snapshot): string {
  return JSON.stringify({ store: version, ...snapshot });
}

/**
 * Reads what {@link writeSnapshot} wrote. It is the host's own text: its shape is checked, so that what is no
 * snapshot is told at once; whether somebody has changed it is not.
 *
 * @throws `snapshot_invalid`
 */
export function readSnapshot(text: string): Snapshot {
  try {
    const value: unknown = JSON.parse(text);
    if (isSnapshot(value)) return value;
  } catch {
    // Told below, in one way for every text that is not a snapshot.
  }
  throw new SkillRunError(
    'snapshot_invalid',
    'The text is not a snapshot of this memory store, or of a version that this library does not read. Pass what snapshot() returned.',
  );
}

function isSnapshot(value: unknown): value is Snapshot {
  if (!isObject(value) || value.store !== version) return false;
  return isList(value.steps, isStep) && isList(value.grants, isGrant) && isList(value.audit, isChain);
}

function isStep(value: unknown): boolean {
  return (
    isObject(value) &&
    value.schema === 1 &&
    isId('stp', value.id) &&
    Number.isSafeInteger(value.revision) &&
    isStepState(value.state) &&
    isScope(value.owner) &&
    (value.replayKey === null || typeof value.replayKey === 'string') &&
    isObject(value.run) &&
    isObject(value.run.arguments) &&
    typeof value.digest === 'string' &&
    Number.isFinite(value.expiresAt) &&
    isList(value.attempts, isObject) &&
    typeof value.cancelAsked === 'boolean'
  );
}

function isGrant(value: unknown): boolean {
  return isObject(value) && isId('grt', value.id) && typeof value.key === 'string' && isScope(value.scope);
}

function isChain(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && isScope(value[0]) && isList(value[1], isEntry);
}

function isEntry(value: unknown): boolean {
  return (
    isObject(value) &&
    isId('aud', value.id) &&
    Number.isSafeInteger(value.seq) &&
    typeof value.previous === 'string' &&
    typeof value.hash === 'string'
  );
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
