import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkJobRequest } from '../../src/link/job-request.ts';
import type { JobEnd } from '../../src/link/job-spec.ts';
import type { JobEngineOptions } from '../../src/link/jobs.ts';
import { createJobEngine } from '../../src/link/jobs.ts';
import type { Job, JobEvent } from '../../src/run/wire.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { expectContract } from '../support/contracts.ts';
import { ann, bob, elsewhere, handExecutor, jobRequest } from './helpers.ts';

const node = { node: 'link-1', provider: null, region: null };
const spec = (change = {}) => checkJobRequest(jobRequest(change), ann.project);

function setUp(options: Partial<JobEngineOptions> = {}) {
  const clock = createManualClock();
  const hands = handExecutor();
  const engine = createJobEngine({ execute: hands.execute, place: () => node, clock, ...options });
  const submit = async (change = {}) => (await engine.submit(spec(change), ann)).job.id;
  return { clock, engine, submit, runs: hands.runs };
}

async function read(events: AsyncIterable<JobEvent>): Promise<JobEvent[]> {
  const all: JobEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a job', () => {
  test('goes queued, placed, running, succeeded; each answer is of the contract', async () => {
    const { engine, submit, runs, clock } = setUp();
    const made = await engine.submit(spec(), ann);
    expect(made).toMatchObject({ created: true, job: { state: 'queued', placement: null } });
    expectContract('job-create-result', made);
    const { id } = made.job;
    expect(engine.get(id, ann)).toMatchObject({ state: 'placed', placement: node });
    expectContract('job', engine.get(id, ann));
    runs[0]?.control.onStart();
    expect(engine.get(id, ann).state).toBe('running');
    expectContract('job', engine.get(id, ann));
    await clock.advance(1500);
    runs[0]?.end({ state: 'succeeded', result: { slug: 'hi' } });
    await settled();
    const job = engine.get(id, ann);
    expect(job).toMatchObject({
      state: 'succeeded',
      result: { slug: 'hi' },
      exit: { reason: 'exited', code: 0 },
      usage: { seconds: 1.5, wall_ms: 1500 },
      error: null,
    });
    expectContract('job', job);
    expectContract('job-list-result', engine.list({}, ann));
    expect(await submit()).not.toBe(id);
  });

  const ends: [string, JobEnd][] = [
    [
      'failed',
      {
        state: 'failed',
        exit: { reason: 'limit', code: null },
        error: { code: 'run.job.limit', detail: null },
      },
    ],
    ['cancelled', { state: 'cancelled' }],
    ['expired', { state: 'expired', error: { code: 'run.job.ttl', detail: 'late' } }],
    ['succeeded', { state: 'succeeded', result: null }],
  ];
  test.each(ends)('ends %s, before and after its start, as the contract says', async (state, end) => {
    for (const starts of [true, false]) {
      const { engine, submit, runs } = setUp();
      const id = await submit();
      if (starts) runs[0]?.control.onStart();
      runs[0]?.end(end);
      await settled();
      expect(engine.get(id, ann).state).toBe(state);
      expectContract('job', engine.get(id, ann));
    }
  });

  test('whose executor throws is worker_failed, and the error is not told', async () => {
    const { engine, submit, runs } = setUp();
    const id = await submit();
    runs[0]?.fail(new Error('secret of the machine'));
    await settled();
    const job = engine.get(id, ann);
    expect(job).toMatchObject({ state: 'failed', error: { code: 'run.job.worker_failed' } });
    expect(JSON.stringify(job)).not.toContain('secret');
    expectContract('job', job);
  });

  test('is of the contract under a clock of fractions', async () => {
    const { engine, submit, runs, clock } = setUp();
    const id = await submit();
    runs[0]?.control.onStart();
    await clock.advance(1.75);
    runs[0]?.end({ state: 'succeeded', result: null });
    await settled();
    expectContract('job', engine.get(id, ann));
  });

  test('never leaves its end, whatever the executor says later', async () => {
    const { engine, submit, runs } = setUp({ place: () => node });
    const id = await submit();
    const control = runs[0]?.control;
    runs[0]?.end({ state: 'cancelled' });
    await settled();
    control?.onStart();
    control?.onOutput('late');
    expect(engine.get(id, ann).state).toBe('cancelled');
    expect((await read(engine.events(id, ann))).map((event) => event.type)).toEqual([
      'state',
      'state',
      'end',
    ]);
  });

  test('is given to nobody else: not to another person, not to another project', async () => {
    const { engine, submit } = setUp();
    const id = await submit();
    for (const other of [bob, elsewhere]) {
      for (const ask of [engine.get, engine.cancel, engine.events, engine.diagnostics]) {
        expect(() => ask(id, other)).toThrow(expect.objectContaining({ code: 'job_not_found' }));
      }
      expect(engine.list({}, other)).toEqual({ jobs: [], next_cursor: null });
    }
    expect(engine.get(id, ann).state).toBe('placed');
  });
});

describe('idempotency', () => {
  test('C96: twenty submits at once under one key make one job', async () => {
    const { engine, runs } = setUp();
    const same = spec();
    const answers = await Promise.all(Array.from({ length: 20 }, () => engine.submit(same, ann)));
    expect(answers.filter((answer) => answer.created)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.job.id)).size).toBe(1);
    expect(runs).toHaveLength(1);
  });

  test('C97: a repeat gets the first job, in whatever state', async () => {
    const { engine, runs } = setUp();
    const same = spec();
    const first = await engine.submit(same, ann);
    runs[0]?.end({ state: 'succeeded', result: 1 });
    await settled();
    const again = await engine.submit(structuredClone(same), ann);
    expect(again).toMatchObject({ created: false, job: { id: first.job.id, state: 'succeeded', result: 1 } });
  });

  test('the same key with other work, or of another person, is a conflict', async () => {
    const { engine } = setUp();
    const same = spec();
    await engine.submit(same, ann);
    const conflict = { code: 'run_problem', status: 409, problem: 'run.idempotency.conflict' };
    await expect(engine.submit({ ...same, ttl_ms: 5000 }, ann)).rejects.toMatchObject(conflict);
    await expect(engine.submit(same, bob)).rejects.toMatchObject(conflict);
    expect((await engine.submit(same, elsewhere)).created).toBe(true);
  });

  test('a job without a key is always a new one', async () => {
    const { engine } = setUp();
    const keyless = { ...spec(), idempotency_key: null };
    await engine.submit(keyless, ann);
    expect((await engine.submit(keyless, ann)).created).toBe(true);
    expectContract('job-list-result', engine.list({}, ann));
  });
});

describe('places', () => {
  test('maxJobs run at once, the rest in order', async () => {
    const { engine, submit, runs } = setUp({ maxJobs: 2 });
    const ids = [await submit(), await submit(), await submit(), await submit()];
    const states = () => ids.map((id) => engine.get(id, ann).state);
    expect(states()).toEqual(['placed', 'placed', 'queued', 'queued']);
    runs[1]?.end({ state: 'succeeded', result: null });
    await settled();
    expect(states()).toEqual(['placed', 'succeeded', 'placed', 'queued']);
  });

  test('200 jobs of one project keep no other project waiting', async () => {
    const { engine, submit, runs } = setUp({ maxJobs: 2 });
    for (let n = 0; n < 200; n += 1) await submit();
    const request = jobRequest();
    const others = { ...request, requirements: { ...request.requirements, project_id: elsewhere.project } };
    const { job } = await engine.submit(checkJobRequest(others, elsewhere.project), elsewhere);
    for (const one of [0, 1]) {
      expect(engine.get(job.id, elsewhere).state).toBe('queued');
      runs[one]?.end({ state: 'succeeded', result: null });
      await settled();
    }
    expect(engine.get(job.id, elsewhere).state).toBe('placed');
    for (let n = 2; n < 201; n += 1) {
      expect(runs.length).toBeLessThanOrEqual(n + 2);
      runs[n]?.end({ state: 'succeeded', result: null });
      await settled();
    }
    const states = engine.list({ limit: 200 }, ann).jobs.map((one) => one.state);
    expect(states).toEqual(Array.from({ length: 200 }, () => 'succeeded'));
  });

  test('a thousand wait when nothing is said', async () => {
    const { submit } = setUp({ place: () => undefined });
    for (let n = 0; n < 1000; n += 1) await submit();
    await expect(submit()).rejects.toMatchObject({ problem: 'run.queue_full' });
  });

  test('a full queue refuses, retryably', async () => {
    const { submit } = setUp({ place: () => undefined, maxQueued: 2 });
    await submit();
    await submit();
    await expect(submit()).rejects.toMatchObject({ status: 429, problem: 'run.queue_full', retryable: true });
  });

  test('no node: queued until the ttl, then expired as unplaceable; the next one still runs', async () => {
    const { engine, submit, clock } = setUp({
      place: (_job, asked) => (asked.egress === 'none' ? node : undefined),
    });
    const stuck = await submit({ egress: 'public', ttl_ms: 60_000 });
    expect(engine.get(await submit(), ann).state).toBe('placed');
    await clock.advance(59_999);
    expect(engine.get(stuck, ann).state).toBe('queued');
    await clock.advance(1);
    expect(engine.get(stuck, ann)).toMatchObject({
      state: 'expired',
      error: { code: 'run.job.unplaceable', detail: 'No node offered to run the job.' },
      timings: { started_at: null },
    });
    expectContract('job', engine.get(stuck, ann));
  });

  test('a busy node or a late start: expired by the ttl, and its work is stopped', async () => {
    const { engine, submit, clock, runs } = setUp({ maxJobs: 1 });
    const placed = await submit({ ttl_ms: 5000 });
    const waiting = await submit({ ttl_ms: 5000 });
    await clock.advance(5000);
    expect(engine.get(placed, ann).error?.code).toBe('run.job.ttl');
    expect(engine.get(waiting, ann).error?.code).toBe('run.job.ttl');
    expect(runs[0]?.control.signal.aborted).toBe(true);
    runs[0]?.end({ state: 'succeeded', result: 'too late' });
    await settled();
    expect(engine.get(placed, ann)).toMatchObject({ state: 'expired', result: null });
    expectContract('job', engine.get(placed, ann));
  });

  const used = { wall_ms: 900, cpu_ms: 80, mem_peak_bytes: 5_000_000 };

  test('a running job is stopped by its ttl, and expired with what it used when its executor says so', async () => {
    const { engine, submit, clock, runs } = setUp();
    const id = await submit({ ttl_ms: 1000 });
    runs[0]?.control.onStart();
    await clock.advance(999);
    expect(runs[0]?.control.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(runs[0]?.control.signal.aborted).toBe(true);
    expect(engine.get(id, ann).state).toBe('running');
    runs[0]?.end({ state: 'cancelled', usage: used, diagnostics: { stderr: 'half', targets: [] } });
    await settled();
    expect(engine.get(id, ann)).toMatchObject({
      state: 'expired',
      exit: { reason: 'ttl', code: null },
      error: { code: 'run.job.ttl', detail: 'The job had not ended when its ttl_ms was over.' },
      usage: { seconds: 0.9, ...used },
    });
    expect(engine.diagnostics(id, ann)?.stderr).toBe('half');
    expectContract('job', engine.get(id, ann));
    expect(clock.sleepers).toBe(0);
  });

  test('a running job whose executor throws on its ttl is expired too', async () => {
    const { engine, submit, clock, runs } = setUp();
    const id = await submit({ ttl_ms: 1000 });
    runs[0]?.control.onStart();
    await clock.advance(1000);
    runs[0]?.fail(new Error('aborted'));
    await settled();
    expect(engine.get(id, ann)).toMatchObject({ state: 'expired', error: { code: 'run.job.ttl' } });
  });

  test('what ended before its ttl, or in spite of it, stays as it ended', async () => {
    const { engine, submit, clock, runs } = setUp();
    const ids = [await submit({ ttl_ms: 1000 }), await submit({ ttl_ms: 1000 })];
    for (const one of runs) one.control.onStart();
    runs[0]?.end({ state: 'succeeded', result: 'early' });
    await settled();
    expect(clock.sleepers).toBe(1);
    await clock.advance(1000);
    runs[1]?.end({ state: 'succeeded', result: 'done' });
    await settled();
    expect(ids.map((id) => engine.get(id, ann).result)).toEqual(['early', 'done']);
  });

  test('a job that is being cancelled when its ttl is over is cancelled, and the other way round', async () => {
    const { engine, submit, clock, runs } = setUp();
    const [cancelled, expired] = [await submit({ ttl_ms: 1000 }), await submit({ ttl_ms: 1000 })];
    for (const one of runs) one.control.onStart();
    engine.cancel(cancelled, ann);
    await clock.advance(1000);
    engine.cancel(expired, ann);
    for (const one of runs) one.end({ state: 'cancelled' });
    await settled();
    expect([cancelled, expired].map((id) => engine.get(id, ann).state)).toEqual(['cancelled', 'expired']);
  });
});

describe('cancel', () => {
  test('a queued job is cancelled at once and never runs', async () => {
    const { engine, submit, runs } = setUp({ maxJobs: 1 });
    await submit();
    const id = await submit();
    expect(engine.cancel(id, ann)).toMatchObject({ state: 'cancelled', exit: { reason: 'cancelled' } });
    expectContract('job', engine.get(id, ann));
    runs[0]?.end({ state: 'cancelled' });
    await settled();
    expect(runs).toHaveLength(1);
  });

  test('a running job is asked, and cancelled only when its executor says so; twice changes nothing', async () => {
    const { engine, submit, runs } = setUp();
    const id = await submit();
    runs[0]?.control.onStart();
    expect(engine.cancel(id, ann).state).toBe('running');
    expect(engine.cancel(id, ann).state).toBe('running');
    expect(runs[0]?.control.signal.aborted).toBe(true);
    runs[0]?.end({ state: 'cancelled' });
    await settled();
    expect(engine.cancel(id, ann).state).toBe('cancelled');
  });

  test('a job that was done first stays done', async () => {
    const { engine, submit, runs } = setUp();
    const id = await submit();
    engine.cancel(id, ann);
    runs[0]?.end({ state: 'succeeded', result: 'done' });
    await settled();
    expect(engine.get(id, ann)).toMatchObject({ state: 'succeeded', result: 'done' });
  });
});

describe('events', () => {
  test('replay what is kept, go on live, end', async () => {
    const { engine, submit, runs } = setUp();
    const id = await submit();
    const all = read(engine.events(id, ann));
    const fromTwo = read(engine.events(id, ann, { after: 2 }));
    runs[0]?.control.onStart();
    runs[0]?.control.onOutput('half');
    runs[0]?.end({ state: 'succeeded', result: null });
    const events = await all;
    for (const event of events) expectContract('job-stream-event', event);
    expect(events.map(({ type }) => type)).toEqual(['state', 'state', 'state', 'output', 'end']);
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(await fromTwo).toEqual(events.slice(2));
    expect(await read(engine.events(id, ann))).toEqual(events);
  });

  test('who asks after the end, or with a number of another server, still hears the end', async () => {
    const { engine, submit, runs } = setUp();
    const id = await submit();
    runs[0]?.end({ state: 'cancelled' });
    await settled();
    expect((await read(engine.events(id, ann, { after: 3 }))).map(({ type }) => type)).toEqual(['end']);
    expect(await read(engine.events(id, ann, { after: 99 }))).toHaveLength(3);
  });

  test('end when the reader goes, without an end event', async () => {
    const { engine, submit } = setUp();
    const id = await submit();
    const stop = new AbortController();
    const events = read(engine.events(id, ann, { signal: stop.signal }));
    await settled();
    stop.abort();
    expect((await events).map(({ type }) => type)).toEqual(['state', 'state']);
  });

  test('a flood of output is bounded; states are never dropped', async () => {
    const { engine, submit, runs } = setUp();
    const id = await submit();
    for (let n = 0; n < 500; n += 1) runs[0]?.control.onOutput('x'.repeat(n === 400 ? 200_000 : 1000));
    runs[0]?.end({ state: 'cancelled' });
    await settled();
    const events = await read(engine.events(id, ann));
    const output = events.flatMap((event) => (event.type === 'output' ? [event.chunk] : []));
    expect(output.length).toBeLessThanOrEqual(64);
    expect(output.join('').length).toBeLessThanOrEqual(65_536);
    expect(events.filter(({ type }) => type !== 'output')).toHaveLength(3);
    for (const event of events) expectContract('job-stream-event', event);
  });
});

describe('memory', () => {
  test('ended jobs beyond maxEnded are forgotten, oldest first, with their keys', async () => {
    const { engine, runs } = setUp({ maxEnded: 2 });
    const specs = [spec(), spec(), spec()];
    const ids: string[] = [];
    for (const [n, one] of specs.entries()) {
      ids.push((await engine.submit(one, ann)).job.id);
      runs[n]?.end({ state: 'succeeded', result: n });
      await settled();
    }
    expect(() => engine.get(ids[0] ?? '', ann)).toThrow(expect.objectContaining({ code: 'job_not_found' }));
    expect(engine.get(ids[1] ?? '', ann).result).toBe(1);
    expect((await engine.submit(specs[0] ?? spec(), ann)).created).toBe(true);
    expect((await engine.submit(specs[2] ?? spec(), ann)).created).toBe(false);
  });

  test('pages are complete, newest first, whatever the limit', async () => {
    const { engine, submit } = setUp({ place: () => undefined });
    const ids: string[] = [];
    for (let n = 0; n < 12; n += 1) ids.unshift(await submit());
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 14 }), (limit) => {
        const seen: Job[] = [];
        let cursor: string | undefined;
        do {
          const page = engine.list({ limit, ...(cursor && { cursor }) }, ann);
          seen.push(...page.jobs);
          cursor = page.next_cursor ?? undefined;
        } while (cursor !== undefined);
        expect(seen.map((job) => job.id)).toEqual(ids);
      }),
      { numRuns: 14 },
    );
    expect(engine.list({ state: 'running' }, ann).jobs).toEqual([]);
  });

  test('close cancels everything and waits for what runs; later submits are refused', async () => {
    const { engine, submit, runs, clock } = setUp({ maxJobs: 1 });
    await submit();
    const queued = await submit();
    const closing = engine.close();
    expect(engine.get(queued, ann).state).toBe('cancelled');
    expect(runs[0]?.control.signal.aborted).toBe(true);
    runs[0]?.end({ state: 'cancelled' });
    await closing;
    expect(clock.sleepers).toBe(0);
    await expect(submit()).rejects.toMatchObject({ code: 'closed' });
  });
});

test('whatever happens in whatever order: allowed steps only, ends for ever, answers of the contract', async () => {
  const steps: Record<string, string[]> = {
    queued: ['placed', 'cancelled', 'expired'],
    placed: ['running', 'succeeded', 'failed', 'cancelled', 'expired'],
    running: ['succeeded', 'failed', 'cancelled', 'expired'],
  };
  const failed: JobEnd = {
    state: 'failed',
    exit: { reason: 'exited', code: 1 },
    error: { code: 'run.job.exit_nonzero', detail: null },
  };
  const act = fc.record({
    kind: fc.constantFrom('submit', 'cancel', 'start', 'succeed', 'fail', 'cancelled', 'throw', 'wait'),
    at: fc.nat(4),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
      const { engine, submit, runs, clock } = setUp({ maxJobs: 2 });
      const ids: string[] = [];
      const last = new Map<string, Job>();
      for (const { kind, at } of acts) {
        const id = ids[at];
        if (kind === 'submit') ids.push(await submit({ ttl_ms: 1000 + at * 1000 }));
        if (kind === 'cancel' && id !== undefined) engine.cancel(id, ann);
        if (kind === 'start') runs[at]?.control.onStart();
        if (kind === 'succeed') runs[at]?.end({ state: 'succeeded', result: at });
        if (kind === 'fail') runs[at]?.end(failed);
        if (kind === 'cancelled') runs[at]?.end({ state: 'cancelled' });
        if (kind === 'throw') runs[at]?.fail(new Error());
        if (kind === 'wait') await clock.advance(at * 500);
        await settled();
        for (const job of engine.list({}, ann).jobs) {
          expectContract('job', job);
          const before = last.get(job.id);
          if (before !== undefined && steps[before.state] === undefined) expect(job).toBe(before);
          last.set(job.id, job);
        }
      }
      for (const id of ids) engine.cancel(id, ann);
      for (const one of runs) one.end({ state: 'cancelled' });
      for (const id of ids) {
        const seen = (await read(engine.events(id, ann))).flatMap((event) =>
          event.type === 'output' ? [] : [event.state],
        );
        for (const [n, state] of seen.slice(1).entries()) expect(steps[seen[n] ?? '']).toContain(state);
        expect(steps[seen.at(-1) ?? '']).toBeUndefined();
      }
      expect(clock.sleepers).toBe(0);
    }),
    { numRuns: 40 },
  );
});
