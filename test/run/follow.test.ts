import { describe, expect, test } from 'vitest';
import { createRunClient } from '../../src/run/client.ts';
import { followJob } from '../../src/run/follow.ts';
import type { FollowOptions } from '../../src/run/service.ts';
import type { JobState } from '../../src/run/wire.ts';
import { type Answer, fakeRun, fakeStream, jobAnswer, json, problem, type Seen } from './support/fake-run.ts';
import { ann, ids, jobIn } from './support/jobs.ts';
import { createTestClock } from './support/test-clock.ts';

const path = `/api/v1/jobs/${ids.job}`;
const lines = {
  get: `GET ${path}`,
  ticket: `POST ${path}/stream/ticket`,
  stream: `GET ${path}/stream`,
};

interface Scripts {
  /** The state that a read answers, or another answer. */
  get: (seen: Seen) => JobState | Answer;
  stream?: (seen: Seen, nth: number) => Answer;
  ticket?: (seen: Seen) => Answer;
}

function setUp(scripts: Scripts, baseUrl = 'https://openvibe.run') {
  const clock = createTestClock();
  let streams = 0;
  const run = fakeRun((seen) => {
    if (seen.line === lines.ticket) return scripts.ticket?.(seen) ?? problem(404, 'run.no_tickets');
    if (seen.line === lines.stream) {
      streams += 1;
      return scripts.stream?.(seen, streams) ?? problem(503, 'run.stream.disabled');
    }
    const answer = scripts.get(seen);
    return typeof answer === 'string' ? jobAnswer(jobIn(answer)) : answer;
  });
  const client = createRunClient({ baseUrl, token: () => 'tok', fetch: run.fetch, clock, retries: 0 });
  const follow = (options: Partial<FollowOptions> = {}) =>
    followJob(client, clock, ids.job, { person: ann, budgetMs: 150_000, ...options });
  return { clock, run, client, follow };
}

describe('polling', () => {
  test.each([
    ['run.stream.busy', problem(503, 'run.stream.busy')],
    ['run.stream.disabled', problem(503, 'run.stream.disabled')],
    ['404', problem(404, 'run.no_such_path')],
    ['another content type', json({})],
  ])('stands in for a stream that is refused: %s', async (_, refusal) => {
    let state: JobState = 'running';
    const { clock, run, follow } = setUp({ get: () => state, stream: () => refusal });
    const work = follow();
    await clock.advance(5000);
    state = 'succeeded';
    expect((await clock.run(work))?.state).toBe('succeeded');
    expect(run.count(lines.stream)).toBe(1);
    expect(run.count(lines.get)).toBeGreaterThan(4);
    expect(run.count(lines.get)).toBeLessThan(10);
    expect(clock.pending()).toBe(0);
  });

  test('a job that has ended is read once, and no stream is opened', async () => {
    const { clock, run, follow } = setUp({ get: () => 'failed' });
    expect((await clock.run(follow()))?.state).toBe('failed');
    expect(run.seen.map(({ line }) => line)).toEqual([lines.get]);
  });

  test('C103: when the budget is spent the answer is nothing at all, never a failed job', async () => {
    const { clock, follow } = setUp({ get: () => 'running' });
    const start = clock.now();
    expect(await clock.run(follow({ budgetMs: 20_000 }))).toBeUndefined();
    expect(clock.now() - start).toBe(20_000);
    expect(clock.pending()).toBe(0);
  });

  test('a budget of 0 is one read', async () => {
    const { clock, run, follow } = setUp({ get: () => 'running' });
    expect(await clock.run(follow({ budgetMs: 0 }))).toBeUndefined();
    expect(run.seen).toHaveLength(1);
  });

  test('each change of state is told once; `until` stops with the job as it is', async () => {
    const states: JobState[] = ['queued', 'queued', 'placed', 'placed', 'running'];
    const told: JobState[] = [];
    const { clock, follow } = setUp({ get: () => states.shift() ?? 'succeeded' });
    const job = await clock.run(
      follow({ onJob: ({ state }) => told.push(state), until: ({ state }) => state === 'running' }),
    );
    expect(job?.state).toBe('running');
    expect(told).toEqual(['queued', 'placed', 'running']);
  });

  test('a failed read is never a failed job: it is read again', async () => {
    const answers: (JobState | Answer)[] = [
      new TypeError('fetch failed'),
      problem(500, 'run.internal'),
      problem(503, 'run.busy'),
      json({ state: 'failed' }),
      'running',
      json({ state: 'failed' }),
      json({ state: 'failed' }),
    ];
    const { clock, follow } = setUp({ get: () => answers.shift() ?? 'succeeded' });
    expect((await clock.run(follow()))?.state).toBe('succeeded');
  });

  test.each([
    ['job_not_found', problem(404, 'run.job_not_found')],
    ['run_problem', problem(403, 'capability.denied')],
  ])('what asking again would not mend rejects: %s', async (code, answer) => {
    const { clock, follow } = setUp({ get: () => answer });
    await expect(clock.run(follow())).rejects.toMatchObject({ code });
    expect(clock.pending()).toBe(0);
  });

  test('three unreadable answers in a row reject', async () => {
    const { clock, run, follow } = setUp({ get: () => json({}) });
    await expect(clock.run(follow())).rejects.toMatchObject({ code: 'run_answer_invalid' });
    expect(run.count(lines.get)).toBe(3);
  });

  test('an abort rejects at once and leaves nothing behind', async () => {
    const stream = fakeStream(ids.job);
    const { clock, follow } = setUp({ get: () => 'running', stream: () => stream.response });
    const controller = new AbortController();
    const work = follow({ signal: controller.signal });
    work.catch(() => {});
    await clock.advance(3000);
    controller.abort();
    await expect(work).rejects.toMatchObject({ code: 'aborted' });
    await clock.advance(0);
    expect(clock.pending()).toBe(0);
    expect(stream.closed()).toBe(true);
  });

  test('an abort beforehand sends nothing', async () => {
    const { run, follow } = setUp({ get: () => 'running' });
    await expect(follow({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
    expect(run.seen).toHaveLength(0);
  });

  test('a fault of the caller’s own callback is the caller’s', async () => {
    const { clock, follow } = setUp({ get: () => 'running' });
    const until = (): boolean => {
      throw new Error('mine');
    };
    await expect(clock.run(follow({ until }))).rejects.toThrow('mine');
  });
});

describe('streaming', () => {
  test('an event is the hint to read, and the read is what is believed', async () => {
    const stream = fakeStream(ids.job);
    let state: JobState = 'running';
    const { clock, run, follow } = setUp({ get: () => state, stream: () => stream.response });
    const work = follow();
    await clock.advance(1000);
    const before = run.count(lines.get);
    state = 'succeeded';
    stream.event(3, { type: 'end', state: 'failed' });
    expect((await clock.run(work))?.state).toBe('succeeded');
    expect(run.count(lines.get)).toBe(before + 1);
    expect(stream.closed()).toBe(true);
    expect(clock.pending()).toBe(0);
  });

  test('while a stream is open the job is hardly polled', async () => {
    const stream = fakeStream(ids.job);
    const { clock, run, follow } = setUp({ get: () => 'running', stream: () => stream.response });
    await clock.run(follow({ budgetMs: 50_000 }));
    expect(run.count(lines.get)).toBeLessThan(10);
  });

  test('a lying end event ends nothing: the job that still runs is followed', async () => {
    const stream = fakeStream(ids.job);
    let state: JobState = 'running';
    const { clock, run, follow } = setUp({ get: () => state, stream: () => stream.response });
    const work = follow();
    await clock.advance(1000);
    stream.event(1, { type: 'end', state: 'succeeded' });
    await clock.advance(20_000);
    expect(stream.closed()).toBe(true);
    state = 'cancelled';
    expect((await clock.run(work))?.state).toBe('cancelled');
    expect(run.count(lines.stream)).toBe(1);
  });

  test('a stream that keeps the end to itself delays it by one poll', async () => {
    const stream = fakeStream(ids.job);
    let state: JobState = 'running';
    const { clock, follow } = setUp({ get: () => state, stream: () => stream.response });
    const work = follow();
    await clock.advance(2000);
    state = 'succeeded';
    const start = clock.now();
    expect((await clock.run(work))?.state).toBe('succeeded');
    expect(clock.now() - start).toBeLessThanOrEqual(10_000);
  });

  test('a flood of events does not become a flood of reads; output is none at all', async () => {
    const stream = fakeStream(ids.job);
    const { clock, run, follow } = setUp({ get: () => 'running', stream: () => stream.response });
    const work = follow({ budgetMs: 5000 });
    await clock.advance(300);
    const before = run.count(lines.get);
    for (let n = 1; n <= 500; n += 1) stream.event(n, { type: 'output', chunk: 'x' });
    await clock.advance(300);
    expect(run.count(lines.get)).toBe(before);
    for (let n = 501; n <= 1000; n += 1) {
      stream.event(n, { type: 'state', state: 'running' });
      if (n % 100 === 0) await clock.advance(40);
    }
    expect(run.count(lines.get)).toBeLessThanOrEqual(before + 3);
    await clock.run(work);
  });

  test('a stream that drops is resumed after its last event, also when the numbers start again', async () => {
    const streams = [fakeStream(ids.job), fakeStream(ids.job), fakeStream(ids.job)];
    let state: JobState = 'running';
    const { clock, run, follow } = setUp({
      get: () => state,
      stream: (_, nth) => streams[nth - 1]?.response ?? new TypeError('no more'),
    });
    const work = follow();
    await clock.advance(500);
    streams[0]?.event(41, { type: 'output', chunk: 'x' });
    streams[0]?.event(42, { type: 'state', state: 'running' });
    await clock.advance(1);
    streams[0]?.break();
    await clock.advance(2000);
    streams[1]?.event(1, { type: 'state', state: 'running' });
    await clock.advance(1);
    streams[1]?.close();
    await clock.advance(2000);
    state = 'succeeded';
    streams[2]?.event(2, { type: 'end', state: 'succeeded' });
    expect((await clock.run(work))?.state).toBe('succeeded');
    const opened = run.seen.filter(({ line }) => line === lines.stream);
    expect(opened.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, '42', '1']);
  });

  test('a stream that drops may have dropped the end: the job is read at once', async () => {
    const stream = fakeStream(ids.job);
    let state: JobState = 'running';
    const { clock, follow } = setUp({ get: () => state, stream: () => stream.response });
    const work = follow();
    await clock.advance(500);
    state = 'succeeded';
    const start = clock.now();
    stream.break();
    expect((await clock.run(work))?.state).toBe('succeeded');
    expect(clock.now() - start).toBeLessThanOrEqual(100);
  });

  test('a stream that breaks again and again is given up for polling', async () => {
    const { clock, run, follow } = setUp({
      get: () => 'running',
      stream: () => {
        const stream = fakeStream(ids.job);
        stream.close();
        return stream.response;
      },
    });
    await clock.run(follow({ budgetMs: 120_000 }));
    expect(run.count(lines.stream)).toBe(5);
    expect(run.count(lines.get)).toBeGreaterThan(40);
  });

  const hostile: [string, string][] = [
    ['a line without an end', 'x'.repeat(1_000_000)],
    ['one whole frame', `data: ${'x'.repeat(1_000_000)}\n\n`],
    ['a frame of very many lines', `${`data: ${'x'.repeat(1000)}\n`.repeat(1000)}\n`],
  ];
  test.each(hostile)('a huge frame closes the stream and polling goes on: %s', async (_, text) => {
    const stream = fakeStream(ids.job);
    let state: JobState = 'running';
    const { clock, run, follow } = setUp({ get: () => state, stream: () => stream.response });
    const work = follow();
    await clock.advance(500);
    stream.write(text);
    await clock.advance(1000);
    expect(stream.closed()).toBe(true);
    state = 'succeeded';
    expect((await clock.run(work))?.state).toBe('succeeded');
    expect(run.count(lines.stream)).toBe(1);
  });

  test('a stream without an end is closed after 4 MiB', async () => {
    const stream = fakeStream(ids.job);
    const { clock, follow } = setUp({ get: () => 'running', stream: () => stream.response });
    const work = follow({ budgetMs: 5000 });
    await clock.advance(500);
    for (let n = 0; n < 70; n += 1) stream.write(`: ${'x'.repeat(65_536)}\n\n`);
    await clock.advance(500);
    expect(stream.closed()).toBe(true);
    await clock.run(work);
  });

  test('a slow-loris stream, byte by byte without a whole frame, is closed for its silence', async () => {
    const stream = fakeStream(ids.job);
    const { clock, run, follow } = setUp({
      get: () => 'running',
      stream: (_, nth) => (nth === 1 ? stream.response : problem(503, 'run.stream.busy')),
    });
    const work = follow();
    for (let n = 0; n < 14; n += 1) {
      await clock.advance(5000);
      if (!stream.closed()) stream.write('d');
    }
    expect(stream.closed()).toBe(true);
    await clock.run(work);
    expect(run.count(lines.stream)).toBe(2);
  });

  test('comments keep a stream open', async () => {
    const stream = fakeStream(ids.job);
    const { clock, run, follow } = setUp({ get: () => 'running', stream: () => stream.response });
    const work = follow();
    for (let n = 0; n < 5; n += 1) {
      await clock.advance(25_000);
      stream.write(': still here\n\n');
    }
    expect(stream.closed()).toBe(false);
    expect(run.count(lines.stream)).toBe(1);
    await clock.run(work);
  });

  test.each([
    'data: {\n\n',
    'data: {"type":"end","type":"end"}\n\n',
    `id: 5\ndata: {"type":"end","job_id":"${ids.otherJob}","seq":5,"at":"x","state":"failed"}\n\n`,
    `id: 5\ndata: {"type":"gone","job_id":"${ids.job}","seq":5,"at":"x"}\n\n`,
    'retry: 1\n\nid: 7\nevent: end\n\n',
  ])('a frame that is no event of this job is passed over: %j', async (frame) => {
    const stream = fakeStream(ids.job);
    const { clock, run, follow } = setUp({ get: () => 'running', stream: () => stream.response });
    const work = follow({ budgetMs: 8000 });
    await clock.advance(500);
    const before = run.count(lines.get);
    stream.write(frame);
    await clock.advance(1000);
    expect(run.count(lines.get)).toBe(before);
    expect(stream.closed()).toBe(false);
    await clock.run(work);
  });

  test('an id that is no number never goes into a header', async () => {
    const streams = [fakeStream(ids.job), fakeStream(ids.job)];
    const { clock, run, follow } = setUp({
      get: () => 'running',
      stream: (_, nth) => streams[nth - 1]?.response ?? problem(503, 'run.stream.busy'),
    });
    const work = follow({ budgetMs: 20_000 });
    await clock.advance(500);
    streams[0]?.write(
      `id: x y\ndata: {"type":"output","job_id":"${ids.job}","seq":1,"at":"x","chunk":""}\n\n`,
    );
    await clock.advance(1);
    streams[0]?.break();
    await clock.run(work);
    const opened = run.seen.filter(({ line }) => line === lines.stream);
    expect(opened.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, null]);
  });
});

describe('tickets', () => {
  const ticketOf = (url: string, jobId: string = ids.job): Response =>
    json({
      ticket: 'aa.bb.cc',
      expires_at: '2026-11-20T10:02:00Z',
      expires_in: 120,
      stream_url: url,
      job_id: jobId,
    });
  const own = `https://openvibe.run/api/v1/jobs/${ids.job}/stream`;

  const open = async (ticket: Answer) => {
    const { clock, run, follow } = setUp({ get: () => 'running', ticket: () => ticket });
    await clock.run(follow({ budgetMs: 1000 }));
    return run.seen.filter(({ line }) => line === lines.stream);
  };

  test('a ticket goes in the place of the token', async () => {
    const [seen] = await open(ticketOf(own));
    expect(seen?.url.href).toBe(`${own}?ticket=aa.bb.cc`);
    expect(seen?.headers.get('authorization')).toBeNull();
  });

  test.each([
    ['another host', `https://evil.example/api/v1/jobs/${ids.job}/stream`],
    ['another port', `https://openvibe.run:444/api/v1/jobs/${ids.job}/stream`],
    ['another scheme', `http://openvibe.run/api/v1/jobs/${ids.job}/stream`],
    ['a host before an @', `https://openvibe.run@evil.example/api/v1/jobs/${ids.job}/stream`],
    ['user info', `https://a:b@openvibe.run/api/v1/jobs/${ids.job}/stream`],
    ['another job', `https://openvibe.run/api/v1/jobs/${ids.otherJob}/stream`],
    ['another path', `https://openvibe.run/api/v1/jobs/${ids.job}/cancel`],
    ['no URL', '::'],
  ])('a stream URL of %s is not followed: the token goes to the known path', async (_, url) => {
    const [seen] = await open(ticketOf(url));
    expect(seen?.url.href).toBe(own);
    expect(seen?.headers.get('authorization')).toBe('Bearer tok');
  });

  test.each([
    ['refused', problem(403, 'capability.denied')],
    ['of another job', ticketOf(own, ids.otherJob)],
    ['broken', new TypeError('fetch failed')],
  ])('without a ticket the token is used: %s', async (_, answer) => {
    const [seen] = await open(answer);
    expect(seen?.headers.get('authorization')).toBe('Bearer tok');
  });

  test('a Run that refuses streams at the ticket is not asked for one', async () => {
    expect(await open(problem(503, 'run.stream.disabled'))).toHaveLength(0);
  });
});
