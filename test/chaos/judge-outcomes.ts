import type { Outcome } from '../../src/gateway/outcome.ts';
import type { EndStatus } from '../../src/step/end.ts';
import type { StepRecord } from '../../src/step/record.ts';
import type { Evidence } from './evidence.ts';
import { didRun, jobsOf } from './judge.ts';
import type { MadeJob } from './network.ts';

/** Ends and outcomes that say something else than what Run knows. */
export function wrongOutcomes({ steps, jobs, got }: Evidence): string[] {
  const byId = new Map(steps.map((step) => [step.id, step]));
  return [
    ...steps.flatMap((step) => wrongEnd(step, jobsOf(jobs, step.id))),
    ...got.flatMap(({ step: id, outcome }) => {
      const step = byId.get(id ?? '');
      return step === undefined ? strange(outcome) : wrongOutcome(outcome, step, jobsOf(jobs, step.id));
    }),
  ];
}

// By Run's own words, not by the library's reading of them.
function statusOf({ end, job }: MadeJob): EndStatus {
  if (job.state === 'succeeded') return 'completed';
  if (job.state === 'cancelled') return 'cancelled';
  if (job.state === 'expired') return 'unplaceable' in end ? 'no_node' : 'limit';
  if ('limit' in end) return 'limit';
  return 'fail' in end && end.exitCode !== undefined ? 'tool_failed' : 'run_error';
}

function wrongEnd(step: StepRecord, made: readonly MadeJob[]): string[] {
  const { end } = step;
  if (end === null) return [];
  const found: string[] = [];
  const tell = (what: string): void => void found.push(`${step.id}: ended as ${end.status}, ${what}`);
  const ran = made.filter(didRun);
  if (end.executed === false && ran.length > 0) tell('as not executed, and its job ran');
  if (end.executed === true && ran.length === 0) tell('as executed, and no job of it ran');
  // A node may leave the list after it took a job: it was known at the submit.
  if (end.status === 'placement_violation') tell('and every job was where it may be');
  if (end.job !== undefined) {
    const truth = made.find(({ job }) => job.id === end.job?.id);
    if (truth === undefined) tell(`with ${end.job.id}, which is no job of it`);
    else if (!endsLike(statusOf(truth), end.status)) tell(`and Run says ${truth.job.state}`);
  }
  if (end.status === 'completed' && end.job === undefined) tell('without a job');
  return found;
}

// A job that found no node in time ends either way, as its script or its nodes had it.
function endsLike(truth: EndStatus, said: EndStatus): boolean {
  return truth === said || (truth === 'limit' && said === 'no_node');
}

function wrongOutcome(outcome: Outcome, step: StepRecord, made: readonly MadeJob[]): string[] {
  const found: string[] = [];
  const tell = (what: string): void => void found.push(`${step.id}: answered ${outcome.status}, ${what}`);
  const isFinal = ['denied', 'expired', 'refused', 'completed', 'tool_failed', 'limit', 'no_node'];
  if (isFinal.includes(outcome.status) && step.end?.status !== outcome.status) {
    tell(`and its record is ${step.state}, ${step.end?.status}`);
  }
  if (outcome.executed === true && !made.some(didRun)) tell('as executed, and no job of it ran');
  if (outcome.status === 'completed') {
    const truth = made.find(({ job }) => job.id === step.end?.job?.id);
    const value = outcome.value.reveal();
    if (JSON.stringify(value) !== JSON.stringify(truth?.job.result))
      tell("with another value than its job's");
  }
  return found;
}

// A call that could not be recorded is no step; every other outcome of these calls has one.
function strange(outcome: Outcome): string[] {
  const isUnrecorded =
    ['run_error', 'outcome_unknown'].includes(outcome.status) &&
    outcome.code === 'port-failed' &&
    outcome.executed !== true;
  return isUnrecorded ? [] : [`answered ${outcome.status} for no step that is stored`];
}
