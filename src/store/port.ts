import type { StepRecord, StepState } from '../step/record.ts';
import type { AllowanceRecord } from './allowance.ts';
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
  readonly allowance: AllowanceStore;
}

/** Whose records are meant: one person in one project. */
export type StoreScope = AuditScope;

/** Which steps of one session are counted. What is left out does not matter. */
export interface StepQuery {
  readonly scope: StoreScope;
  readonly session: string;
  readonly turn?: string;
  readonly digest?: string;
  readonly state?: StepState;
  /** Only those whose tool ran, or may have. */
  readonly ran?: true;
}

/** The records of steps. */
export interface StepStore {
  /**
   * Stores a new step, unless one with the same `replayKey` (not null) is there: then answers that one.
   * One atomic operation. What no store would read again is not stored, here and in `update`: `step_invalid`.
   */
  create(step: StepRecord): Promise<{ created: boolean; step: StepRecord }>;
  get(id: string): Promise<StepRecord | undefined>;
  /** The step with this `replayKey`. */
  findReplay(replayKey: string): Promise<StepRecord | undefined>;
  /** Compare-and-set: stores `step` exactly when the stored revision is `step.revision - 1`. */
  update(step: StepRecord): Promise<boolean>;
  /** The steps of this person that have not ended, oldest first. */
  open(scope: StoreScope): Promise<readonly StepRecord[]>;
  /** How many there are. */
  count(query: StepQuery): Promise<number>;
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
  /** Appends exactly when the chain's head is still `entry.previous`, and `entry.seq` the next. One atomic operation. */
  append(scope: AuditScope, entry: AuditEntry): Promise<boolean>;
  /** The chain, or a part of it, oldest first. */
  list(scope: AuditScope, page?: AuditPage): Promise<readonly AuditEntry[]>;
}

/** Which part of a chain. */
export interface AuditPage {
  /** The `seq` after which it begins. Default 0: at the beginning. */
  readonly after?: number;
  /** The most entries. Default: all. */
  readonly limit?: number;
}

/** What agents have used of their allowances. */
export interface AllowanceStore {
  get(key: string): Promise<AllowanceRecord | undefined>;
  /**
   * Compare-and-set: stores the record exactly when the stored revision is `record.revision - 1`; with
   * revision 1, when there is none. One atomic operation.
   */
  put(record: AllowanceRecord): Promise<boolean>;
}
