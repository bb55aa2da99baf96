import { isId } from '../ids.ts';
import { maxJsonDepth, nets } from '../skill/caps.ts';
import { isObject } from '../skill/json.ts';
import type { EndStatus, JobSummary, StepEnd } from './end.ts';
import type { StepAttempt, StepDecision, StepFacts, StepPin, StepRecord, StepRun } from './record.ts';
import { isStepEnd, isStepState } from './transitions.ts';

type Is = (value: unknown) => boolean;

/** One predicate for each part that the type has. A part that may be missing says so of `undefined`. */
type Parts<Type> = { readonly [Part in keyof Type]-?: Is };

const text: Is = (value) => typeof value === 'string';
const number: Is = (value) => Number.isFinite(value);
const amount: Is = (value) => number(value) && (value as number) >= 0;
const flag: Is = (value) => typeof value === 'boolean';
// What a date can be made of: beyond it, to write it down throws.
const time: Is = (value) => number(value) && Math.abs(value as number) <= 8.64e15;
const id = (prefix: 'stp' | 'usr' | 'prj' | 'agt'): Is => {
  return (value) => isId(prefix, value);
};
const nullOr = (is: Is): Is => {
  return (value) => value === null || is(value);
};
const optional = (is: Is): Is => {
  return (value) => value === undefined || is(value);
};
const listOf = (is: Is): Is => {
  return (value) => Array.isArray(value) && value.every(is);
};
const oneOf = (...known: readonly unknown[]): Is => {
  return (value) => known.includes(value);
};
const shape = <Type>(parts: Parts<Type>): Is => {
  const named: [string, Is][] = Object.entries(parts);
  return (value) => isObject(value) && named.every(([name, is]) => is(ownPart(value, name)));
};

function ownPart(value: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

// A store of the host's may keep other things than JSON, and the digest is taken over JSON.
function isJson(value: unknown, depth = 0): boolean {
  if (typeof value !== 'object' || value === null)
    return value === null || text(value) || number(value) || flag(value);
  if (depth > maxJsonDepth) return false;
  return Object.values(value).every((part) => isJson(part, depth + 1));
}

const ends: Readonly<Record<EndStatus, true>> = {
  completed: true,
  tool_failed: true,
  limit: true,
  denied: true,
  expired: true,
  cancelled: true,
  superseded: true,
  refused: true,
  no_approver: true,
  skill_unavailable: true,
  no_node: true,
  placement_violation: true,
  allowance_exhausted: true,
  balance_exhausted: true,
  outcome_unknown: true,
  run_error: true,
};

const run = shape<StepRun>({
  slug: text,
  version: text,
  hash: text,
  tool: text,
  entry: text,
  pins: listOf(shape<StepPin>({ name: text, mediaId: text, sha256: text, size: amount })),
  arguments: (value) => isObject(value) && isJson(value),
  net: oneOf(...nets),
  limits: shape<StepRun['limits']>({ wall_ms: amount, mem_bytes: amount }),
});

const facts = shape<StepFacts>({
  policy: flag,
  skill: shape<StepFacts['skill']>({
    publisher: nullOr(text),
    verdict: oneOf('clean', 'flagged', 'failed'),
    findings: shape<StepFacts['skill']['findings']>({ fail: amount, flag: amount }),
  }),
  level: oneOf('observe', 'ask', 'auto'),
  alone: flag,
  taint: flag,
  placement: oneOf('own', 'pool', 'none', 'unknown', null),
  count: shape<StepFacts['count']>({ turn: amount, session: amount, pending: amount }),
});

const decision = shape<StepDecision>({
  entry: optional(text),
  effect: oneOf('approve', 'deny'),
  via: oneOf('person', 'grant', 'policy'),
  by: text,
  reason: optional(text),
  at: text,
});

const attempt = shape<StepAttempt>({
  service: text,
  tier: oneOf('own', 'pool'),
  // The first records of attempts had none.
  nodes: optional(listOf(text)),
  key: text,
  job: nullOr(text),
  state: oneOf('open', 'withdrawing', 'unplaced'),
});

const job = shape<JobSummary>({
  id: text,
  node: nullOr(text),
  tier: oneOf('own', 'pool'),
  wallMs: amount,
  cpuMs: nullOr(amount),
  memPeakBytes: nullOr(amount),
  seconds: amount,
  exit: nullOr(shape<NonNullable<JobSummary['exit']>>({ reason: text, code: nullOr(number) })),
});

const end = shape<StepEnd>({
  status: (value) => text(value) && Object.hasOwn(ends, value as string),
  executed: oneOf(true, false, 'unknown'),
  message: text,
  code: optional(text),
  detail: optional(text),
  job: optional(job),
  at: text,
  entry: optional(text),
});

const record = shape<StepRecord>({
  schema: oneOf(2),
  id: id('stp'),
  revision: Number.isSafeInteger,
  state: isStepState,
  owner: shape<StepRecord['owner']>({ subject: id('usr'), project: id('prj'), agent: nullOr(id('agt')) }),
  session: text,
  turn: text,
  call: shape<StepRecord['call']>({ id: text, name: text }),
  replayKey: nullOr(text),
  run,
  digest: text,
  target: text,
  why: text,
  canAlways: flag,
  facts: nullOr(facts),
  createdAt: time,
  expiresAt: time,
  decision: nullOr(decision),
  edited: nullOr(shape<NonNullable<StepRecord['edited']>>({ digest: text, by: text, at: text })),
  hold: nullOr(shape<NonNullable<StepRecord['hold']>>({ key: text, seconds: amount })),
  attempts: listOf(attempt),
  lease: nullOr(shape<NonNullable<StepRecord['lease']>>({ holder: text, until: time })),
  cancelAsked: flag,
  end: nullOr(end),
});

/** Whether it has the shape of a record of this version, through and through, and an end exactly where its state is one. */
export function isStepRecord(value: unknown): value is StepRecord {
  if (!record(value)) return false;
  const step = value as StepRecord;
  return isStepEnd(step.state) === (step.end !== null);
}
