import { describe, expect, test } from 'vitest';
import type { Json } from '../../src/skill/json.ts';
import { readStep } from '../../src/step/read.ts';
import type { StepRecord } from '../../src/step/record.ts';
import { ann } from '../support/harness.ts';
import { someEnd, someRun, someStep, someTime } from '../support/step.ts';

const at = '2026-01-01T00:00:00.000Z';

/** A record in which nothing is missing. */
const whole = someStep({
  state: 'ended',
  replayKey: 'r',
  why: 'Because.',
  facts: {
    policy: true,
    skill: { publisher: ann.subject, verdict: 'clean', findings: { fail: 0, flag: 1 } },
    level: 'auto',
    alone: false,
    taint: true,
    placement: 'own',
    count: { turn: 1, session: 2, pending: 3 },
  },
  decision: { entry: 'e', effect: 'approve', via: 'person', by: ann.subject, reason: 'Yes.', at },
  edited: { digest: 'd'.repeat(64), by: ann.subject, at },
  hold: { key: 'k', seconds: 11 },
  attempts: [{ service: 'run', tier: 'own', nodes: ['n'], key: 'k', job: 'job_1', state: 'open' }],
  lease: { holder: 'h', until: someTime },
  end: {
    ...someEnd,
    entry: 'e',
    code: 'c',
    detail: 'd',
    job: {
      id: 'job_1',
      node: 'n',
      tier: 'own',
      wallMs: 1,
      cpuMs: 2,
      memPeakBytes: 3,
      seconds: 4,
      exit: { reason: 'exited', code: 0 },
    },
  },
});

type Path = readonly string[];

/** The path of every part, outermost first. */
function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inside = Object.entries(value).flatMap(([key, part]) => pathsOf(part, [...path, key]));
  return path.length === 0 ? inside : [path, ...inside];
}

/** The record with another part, or without it. */
function changed(path: Path, value: unknown): unknown {
  const copy = structuredClone(whole) as unknown as Record<string, unknown>;
  const holder = path.slice(0, -1).reduce((part, key) => part[key] as Record<string, unknown>, copy);
  const last = path.at(-1) as string;
  if (value === undefined) delete holder[last];
  else holder[last] = value;
  return copy;
}

const sameKind = (a: unknown, b: unknown): boolean =>
  typeof a === typeof b && Array.isArray(a) === Array.isArray(b) && (a === null) === (b === null);

const valueAt = (path: Path): unknown =>
  path.reduce((part, key) => (part as Record<string, unknown>)[key], whole as unknown);

const others: readonly Json[] = [null, true, 7, 'other', [], [7], {}, { other: 1 }];

// What may be other than it is, or missing: each is looked at before it is used.
const free = ['run.arguments.title', 'run.arguments.shorten'];
const nullable = [
  ...['owner.agent', 'replayKey', 'facts', 'facts.skill.publisher', 'facts.placement', 'decision', 'edited'],
  ...[
    'hold',
    'attempts.0.job',
    'lease',
    'end.job.node',
    'end.job.cpuMs',
    'end.job.memPeakBytes',
    'end.job.exit',
  ],
  'end.job.exit.code',
];
const optional = [
  ...['decision.entry', 'decision.reason', 'attempts.0.nodes'],
  ...['end.code', 'end.detail', 'end.job', 'end.entry'],
];

describe('a record in which one part is another', () => {
  const paths = pathsOf(whole).filter((path) => !free.includes(path.join('.')));
  // A list of one more or less is one.
  const parts = paths.filter((path) => path.at(-1) !== '0');
  const refuses = (value: unknown): void => {
    expect(() => readStep(value)).toThrow(expect.objectContaining({ code: 'step_invalid' }));
  };

  test('is read where nothing is', () => {
    expect(readStep(structuredClone(whole))).toEqual(whole);
  });

  test.each(paths.filter(([part]) => part !== 'schema').map((path) => [path.join('.'), path] as const))(
    'of another type is none: %s',
    (name, path) => {
      for (const other of others) {
        if (other === null ? nullable.includes(name) : sameKind(other, valueAt(path))) continue;
        refuses(changed(path, other));
      }
    },
  );

  test.each(parts.map((path) => [path.join('.'), path] as const))('that is missing: %s', (name, path) => {
    const value = changed(path, undefined);
    if (optional.includes(name)) expect(readStep(value)).toMatchObject({ id: whole.id });
    else refuses(value);
  });

  test.each<[string, unknown]>([
    ['net', { run: { ...someRun, net: 'all' } }],
    ['tier', { attempts: [{ ...whole.attempts[0], tier: 'toString' }] }],
    ['status', { end: { ...someEnd, status: 'toString' } }],
    ['executed', { end: { ...someEnd, executed: 'no' } }],
    ['decision', { decision: { ...whole.decision, effect: 'ask' } }],
    ['level', { facts: { ...whole.facts, level: 'all' } }],
    ['a run with nothing', { run: {} }],
    ['a time that no date can be made of', { expiresAt: 9e15 }],
    ['a time without end', { createdAt: Number.POSITIVE_INFINITY }],
    ['less than no seconds', { hold: { key: 'k', seconds: -1 } }],
    ['an end that is missing', { end: null }],
    ['an end that is not reached', { state: 'running' }],
    ['arguments that are no JSON', { run: { ...someRun, arguments: { title: 1n } } }],
    ['arguments that are deep', { run: { ...someRun, arguments: { title: deep(100_000) } } }],
    ['a part that is inherited', Object.create({ ...whole })],
  ])('or another value: %s', (_, change) => {
    if (Object.keys(change as object).length === 0) refuses(Object.assign(change as object, { schema: 2 }));
    else refuses({ ...whole, ...(change as Partial<StepRecord>) });
  });
});

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let n = 0; n < levels; n += 1) value = [value];
  return value;
}
