import type { Outcome } from '../../src/gateway/outcome.ts';
import type { Person } from '../../src/run/service.ts';
import type { StepRecord } from '../../src/step/record.ts';
import type { AuditEntry } from '../../src/store/audit.ts';
import type { StorePort } from '../../src/store/port.ts';
import type { Effect } from './chaos-store.ts';
import type { MadeJob } from './network.ts';

/** A decision that somebody sent. */
export interface Sent {
  readonly kind: 'approve' | 'always' | 'deny' | 'cancel';
  readonly step: string;
  /** Whether it was answered as applied; `unknown` where no answer came. */
  applied: boolean | 'unknown';
}

/** An outcome that somebody got. */
export interface Got {
  readonly step: string | undefined;
  readonly outcome: Outcome;
}

/** Everything that is known of one schedule once it is over: what the judge goes by. */
export interface Evidence {
  readonly person: Person;
  /** What the model asked for, by the call's id. */
  readonly asked: ReadonlyMap<string, Asked>;
  readonly steps: readonly StepRecord[];
  readonly audit: readonly AuditEntry[];
  readonly jobs: readonly MadeJob[];
  readonly sent: readonly Sent[];
  readonly got: readonly Got[];
  /** The steps of `step-finished`, once for each time that it was told. */
  readonly finished: readonly string[];
  /** What never came to an end, in words. */
  readonly hung: readonly string[];
  /** What rejected that never may, in words. */
  readonly thrown: readonly string[];
  /** What the store did, where one thread saw all of it. */
  readonly effects?: readonly Effect[];
  /** Whether a node of the schedule went away: a job on it is then on none that is known. */
  readonly nodesChanged: boolean;
}

/** One call of the model's. */
export interface Asked {
  readonly tool: string;
  readonly entry: string;
  readonly arguments: Readonly<Record<string, string>>;
  readonly egress: 'none' | 'public';
  /** sha256 of each code file, sorted. */
  readonly code: readonly string[];
}

/** What the store holds of a person: every step that the audit names, and the chain. */
export async function recordsOf(
  store: StorePort,
  person: Person,
): Promise<Pick<Evidence, 'steps' | 'audit'>> {
  const audit = await store.audit.list(person);
  const ids = new Set(audit.flatMap(({ step }) => (step === null ? [] : [step])));
  const steps = await Promise.all([...ids].map((id) => store.steps.get(id)));
  return { audit, steps: steps.filter((step) => step !== undefined) };
}
