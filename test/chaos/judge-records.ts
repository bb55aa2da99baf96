import { canonicalJson, type Json } from '../../src/skill/json.ts';
import { digestOf } from '../../src/step/digest.ts';
import type { StepRecord } from '../../src/step/record.ts';
import { isStepEnd } from '../../src/step/transitions.ts';
import { type AuditEntry, type AuditEvent, auditRoot, chainEntry } from '../../src/store/audit.ts';
import type { Effect } from './chaos-store.ts';
import type { Asked, Evidence } from './evidence.ts';

/** What is wrong with the records themselves: their chain, their order, what ran of them. */
export function wrongRecords(evidence: Evidence): string[] {
  const { steps, audit, effects = [], thrown } = evidence;
  return [
    ...thrown.map((what) => `it rejected: ${what}`),
    ...brokenChain(audit),
    ...steps.flatMap((step) => unrecorded(step, audit)),
    ...steps.flatMap((step) => recordedLate(step, effects)),
    ...steps.flatMap((step) => revisions(step, effects)),
    ...otherWork(evidence),
  ];
}

/** Whether each entry's hash is over itself and the one before it. */
export async function verifyChain({ audit, person }: Evidence): Promise<string[]> {
  const found: string[] = [];
  let head: AuditEntry | undefined;
  for (const entry of audit) {
    const { id, seq: _, previous: __, hash, ...facts } = entry;
    const right = await chainEntry(person, head, id, facts);
    if (right.hash !== hash) found.push(`the audit chain does not verify at ${entry.seq}`);
    head = entry;
  }
  return found;
}

/** Whether every record is still what was approved. */
export async function verifyDigests({ steps }: Evidence): Promise<string[]> {
  const found: string[] = [];
  for (const step of steps) {
    if ((await digestOf(step.owner, step.run)) !== step.digest) found.push(`${step.id}: another digest`);
  }
  return found;
}

function brokenChain(audit: readonly AuditEntry[]): string[] {
  return audit.flatMap((entry, at) => {
    const isNext = entry.seq === at + 1 && entry.previous === (audit[at - 1]?.hash ?? auditRoot);
    return isNext ? [] : [`the audit chain is broken at ${at + 1}`];
  });
}

// What stands before a change of the record, by the change.
function auditsOf(step: StepRecord): { event: readonly AuditEvent[]; job?: string }[] {
  const { decision, end, attempts, state } = step;
  return [
    ...(decision?.effect === 'approve' ? [{ event: ['approve'] as const }] : []),
    ...(step.edited !== null ? [{ event: ['edit'] as const }] : []),
    ...(state === 'denied' ? [{ event: ['deny'] as const }] : []),
    ...attempts.map(({ key }) => ({ event: ['submit'] as const, job: key })),
    ...(attempts.some((attempt) => attempt.state === 'withdrawing')
      ? [{ event: ['withdraw'] as const }]
      : []),
    ...(step.cancelAsked ? [{ event: ['cancel'] as const }] : []),
    ...(end !== null ? [{ event: ['end', 'deny', 'refuse', 'expire', 'cancel'] as const }] : []),
  ];
}

function isOf(entry: AuditEntry, step: StepRecord, audit: ReturnType<typeof auditsOf>[number]): boolean {
  return (
    entry.step === step.id &&
    audit.event.includes(entry.event) &&
    (audit.job === undefined || entry.job === audit.job)
  );
}

function unrecorded(step: StepRecord, entries: readonly AuditEntry[]): string[] {
  return auditsOf(step)
    .filter((audit) => !entries.some((entry) => isOf(entry, step, audit)))
    .map((audit) => `${step.id}: is ${step.state} without an audit of ${audit.event.join(' or ')}`);
}

// The same at every revision, where the order of the effects is known.
function recordedLate({ id }: StepRecord, effects: readonly Effect[]): string[] {
  return effects.flatMap((effect, at) => {
    if ((effect.kind !== 'created' && effect.kind !== 'updated') || effect.step.id !== id) return [];
    const { step } = effect;
    const before = effects.slice(0, at).flatMap((one) => (one.kind === 'audited' ? [one.entry] : []));
    return unrecorded(step, before).map((what) => `revision ${step.revision}, ${what}`);
  });
}

function revisions({ id, revision }: StepRecord, effects: readonly Effect[]): string[] {
  if (effects.length === 0) return [];
  const all = effects
    .flatMap((effect) =>
      (effect.kind === 'created' || effect.kind === 'updated') && effect.step.id === id ? [effect.step] : [],
    )
    .sort((a, b) => a.revision - b.revision);
  const found: string[] = [];
  for (const [at, step] of all.entries()) {
    const before = all[at - 1];
    if (step.revision !== at + 1)
      found.push(`${id}: revision ${step.revision} was stored as number ${at + 1}`);
    if (before !== undefined && isStepEnd(before.state)) found.push(`${id}: changed after its end`);
    const isDecided = step.state === 'approved' || step.state === 'denied';
    if (isDecided && before !== undefined && before.state !== 'pending') {
      found.push(`${id}: decided while it was ${before.state}`);
    }
  }
  if (all.at(-1)?.revision !== revision) found.push(`${id}: what was stored last is not what is stored`);
  return found;
}

/** What a person made of the call's arguments, or those; `undefined` for an edit that nobody sent. */
function approvedArguments(
  { id, run, edited }: StepRecord,
  call: Asked,
  sent: Evidence['sent'],
): Asked['arguments'] | undefined {
  if (edited === null) return call.arguments;
  const made = canonicalJson(run.arguments);
  return sent.find((one) => {
    const isOf = one.kind === 'edit' && one.step === id && one.applied !== false;
    return isOf && canonicalJson(one.arguments as unknown as Json) === made;
  })?.arguments;
}

function otherWork({ asked, steps, jobs, sent }: Evidence): string[] {
  return jobs.flatMap(({ spec, job }) => {
    const step = steps.find(({ id }) => spec.idempotency_key?.split(':')[1] === id);
    const call = asked.get(step?.call.id ?? '');
    if (step === undefined || call === undefined) return [];
    const input = approvedArguments(step, call, sent);
    if (input === undefined) return [`${step.id}: it has arguments that nobody sent`];
    const made = {
      args: spec.args,
      code: spec.inputs.map(({ sha256 }) => sha256 ?? '').sort(),
      egress: spec.egress,
      limits: { wall_ms: spec.limits.wall_ms, mem_bytes: spec.limits.mem_bytes },
    };
    const approved = {
      args: { tool: call.tool, entry: call.entry, input },
      code: call.code,
      egress: call.egress,
      limits: step.run.limits,
    };
    const isSame = canonicalJson(made as unknown as Json) === canonicalJson(approved as unknown as Json);
    return isSame ? [] : [`${step.id}: ${job.id} is other work than was approved`];
  });
}
