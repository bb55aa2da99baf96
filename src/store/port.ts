import type { StepRecord } from '../step/record.ts';
import type { AuditEntry, AuditScope } from './audit.ts';
import type { Grant } from './grant.ts';

/**
 * Where steps, grants and the audit live. Every method may be called by many processes at once; the rules
 * below are what the rest of the library stands on.
 */
export interface StorePort {
  /** Whether what was written survives the process. */
  readonly durable: boolean;
  readonly steps: StepStore;
  readonly grants: GrantStore;
  readonly audit: AuditStore;
}

/** Whose records are meant: one person in one project. */
export type StoreScope = AuditScope;

/** The records of steps. */
export interface StepStore {
  /**
   * Stores a new step, unless one with the same `replayKey` (not null) is there: then answers that one.
   * One atomic operation.
   */
  create(step: StepRecord): Promise<{ created: boolean; step: StepRecord }>;
  get(id: string): Promise<StepRecord | undefined>;
  /** The step with this `replayKey`. */
  findReplay(replayKey: string): Promise<StepRecord | undefined>;
  /** Compare-and-set: stores `step` exactly when the stored revision is `step.revision - 1`. */
  update(step: StepRecord): Promise<boolean>;
  /** The steps of this person that have not ended, oldest first. */
  open(scope: StoreScope): Promise<readonly StepRecord[]>;
}

/** The "always allow" grants. */
export interface GrantStore {
  /** Stores a grant, unless its key is there: then answers that one. One atomic operation. */
  put(grant: Grant): Promise<Grant>;
  find(key: string): Promise<Grant | undefined>;
  /** The grants of this person, oldest first. */
  list(scope: StoreScope): Promise<readonly Grant[]>;
  /** Whether there was such a grant of this person. */
  remove(id: string, scope: StoreScope): Promise<boolean>;
}

/** The audit chains. */
export interface AuditStore {
  head(scope: AuditScope): Promise<AuditEntry | undefined>;
  /** Appends exactly when the chain's head is still `entry.previous`. One atomic operation. */
  append(scope: AuditScope, entry: AuditEntry): Promise<boolean>;
  /** The chain, oldest first. */
  list(scope: AuditScope): Promise<readonly AuditEntry[]>;
}
