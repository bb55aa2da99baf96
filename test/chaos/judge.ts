import type { StepRecord } from '../../src/step/record.ts';
import { isStepEnd } from '../../src/step/transitions.ts';
import type { Evidence } from './evidence.ts';
import { miscounted, wrongHolds } from './judge-allowance.ts';
import { wrongDecisions, wrongGrants } from './judge-decisions.ts';
import { wrongOutcomes } from './judge-outcomes.ts';
import { wrongRecords } from './judge-records.ts';
import { wrongListings } from './judge-registry.ts';
import { leftWaiting, wrongTurns } from './judge-turns.ts';
import type { MadeJob } from './network.ts';

/** What was found of one schedule, each in words; three empty lists are what is promised. */
export interface Verdict {
  /** Calls of which more than one job ran, steps that were decided or told as finished or charged more than once. */
  readonly duplicates: readonly string[];
  /** Approved steps that came to no end, ends that nobody was told of, runs that nobody charged. */
  readonly lost: readonly string[];
  /** Everything else that must never be. */
  readonly wrong: readonly string[];
}

/** Compares what the library recorded and answered with what Run knows. */
export function judge(evidence: Evidence): Verdict {
  const { steps, jobs, hung } = evidence;
  const { twice, never } = miscounted(evidence);
  const ran = new Map(steps.map((step) => [step.id, jobsOf(jobs, step.id).filter(didRun)]));
  return {
    duplicates: [...duplicatesOf(evidence), ...twice],
    lost: [
      ...hung.map((what) => `${what} never came to an end`),
      ...steps.flatMap((step) => lostOf(step, ran.get(step.id) ?? [])),
      ...orphans(evidence),
      ...leftWaiting(evidence),
      ...never,
    ],
    wrong: [
      ...wrongRecords(evidence),
      ...wrongDecisions(evidence),
      ...wrongGrants(evidence),
      ...wrongOutcomes(evidence),
      ...wrongHolds(evidence),
      ...wrongListings(evidence),
      ...wrongTurns(evidence),
    ],
  };
}

// A call is the model's: its session, turn and arguments are the same in every process.
function duplicatesOf({ steps, jobs, sent, finished }: Evidence): string[] {
  const found: string[] = [];
  const tell = (what: string, times: number): void => {
    if (times > 1) found.push(`${what} ${times} times`);
  };
  for (const call of new Set(steps.map((step) => step.call.id))) {
    const ids = steps.filter((step) => step.call.id === call).map(({ id }) => id);
    const ran = ids.flatMap((id) => jobsOf(jobs, id).filter(didRun));
    tell(`${call} ran`, ran.length);
  }
  for (const { id } of steps) {
    const applied = sent.filter(
      ({ step, kind, applied }) => step === id && kind !== 'cancel' && applied === true,
    );
    tell(`${id} was decided`, applied.length);
    tell(`${id} was told as finished`, finished.filter((step) => step === id).length);
  }
  return found;
}

/** The jobs that Run made of a step. */
export function jobsOf(jobs: readonly MadeJob[], step: string): MadeJob[] {
  return jobs.filter(({ spec }) => spec.idempotency_key?.split(':')[1] === step);
}

/** Whether the tool's code ran. */
export function didRun({ job }: MadeJob): boolean {
  return job.timings.started_at !== null;
}

// The ends that say themselves that a job may have run of which nobody knows.
const unknowable = ['not-sent-again', 'placement-violation'];

function lostOf(step: StepRecord, ran: readonly MadeJob[]): string[] {
  if (!isStepEnd(step.state)) {
    return step.state === 'pending' ? [] : [`${step.id}: approved, and still ${step.state} at the end`];
  }
  if (ran.length === 0 || step.end === null) return [];
  const { status, executed, code = '' } = step.end;
  const isTold =
    executed === true || unknowable.includes(code) || (status === 'cancelled' && executed !== false);
  return isTold ? [] : [`${step.id}: its job ran, and it ended as ${status} (${code})`];
}

function orphans({ steps, jobs }: Evidence): string[] {
  const known = new Set(steps.map(({ id }) => id));
  return jobs
    .map(({ spec }) => spec.idempotency_key?.split(':')[1] ?? '')
    .filter((step) => !known.has(step))
    .map((step) => `${step}: there is a job of it and no record`);
}
