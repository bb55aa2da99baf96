import type { Outcome } from '../../src/gateway/outcome.ts';
import type { Person } from '../../src/run/service.ts';
import type { StepRecord } from '../../src/step/record.ts';
import type { AllowanceRecord } from '../../src/store/allowance.ts';
import type { AuditEntry } from '../../src/store/audit.ts';
import type { StorePort } from '../../src/store/port.ts';
import type { Effect } from './chaos-store.ts';
import type { MadeJob } from './network.ts';
import type { RegistryChange } from './registry.ts';

/** A decision that somebody sent. */
export interface Sent {
  readonly kind: 'approve' | 'always' | 'edit' | 'deny' | 'cancel';
  readonly step: string;
  /** Of an edit. */
  readonly arguments?: Asked['arguments'];
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
  /** What processes of their own could tell of what they did, in the order of the machine's clock. */
  readonly told?: readonly Effect[];
  /** How often the person was said to have gone on without deciding. */
  readonly newTurns: number;
  /** The seconds that the agent may run alone; `null` where nothing is charged. */
  readonly ceiling: number | null;
  /** Every account that a step names. */
  readonly accounts: readonly AllowanceRecord[];
  /** `null` where no registry is asked. */
  readonly registry: RegistryEvidence | null;
}

/** What the registry said in the course of a schedule. */
export interface RegistryEvidence {
  readonly history: readonly RegistryChange[];
  readonly maxAgeMs: number;
  /** What may lie between a look and the submit after it; `null` where the clocks do not agree. */
  readonly slackMs: number | null;
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
): Promise<Pick<Evidence, 'steps' | 'audit' | 'accounts'>> {
  const audit = await store.audit.list(person);
  const ids = new Set(audit.flatMap(({ step }) => (step === null ? [] : [step])));
  const found = await Promise.all([...ids].map((id) => store.steps.get(id)));
  const steps = found.filter((step) => step !== undefined);
  const keys = new Set(steps.flatMap(({ hold }) => (hold === null ? [] : [hold.key])));
  const accounts = await Promise.all([...keys].map((key) => store.allowance.get(key)));
  return { audit, steps, accounts: accounts.filter((account) => account !== undefined) };
}
