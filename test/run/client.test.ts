import { describe, expect, test } from 'vitest';
import { createRunClient, type RunClientOptions } from '../../src/run/client.ts';
import type { Json } from '../../src/skill/json.ts';
import { fakeRun, jobAnswer, json, problem, type Script, submitAnswer } from './support/fake-run.ts';
import { ann, bob, ids, jobIn, requestOf } from './support/jobs.ts';
import { createTestClock } from './support/test-clock.ts';

function setUp(script: Script, options: Partial<RunClientOptions> = {}) {
  const clock = createTestClock();
  const run = fakeRun(script);
  const client = createRunClient({ token: () => 'tok.en', fetch: run.fetch, clock, ...options });
  return { clock, run, client };
}

const never = (): Promise<Response> => new Promise(() => {});

describe('submit', () => {
  test('C96: a retry after a lost answer carries the same key and body, and gets the first job', async () => {
    const jobs = new Map<unknown, string>();
    const { clock, run, client } = setUp(({ body }, nth) => {
      const { idempotency_key: key } = body as { idempotency_key: string };
      const created = !jobs.has(key);
      jobs.set(key, ids.job);
      return nth === 1 ? new TypeError('fetch failed') : submitAnswer(jobIn('queued'), created);
    });
    const answer = await clock.run(client.submit(requestOf(), { person: ann }));
    expect(answer.created).toBe(false);
    expect(answer.job.id).toBe(ids.job);
    expect(run.seen).toHaveLength(2);
    expect(run.seen[1]?.body).toEqual(run.seen[0]?.body);
    expect(jobs.size).toBe(1);
  });

  test('C96: the same key with other work is a typed conflict, not retried', async () => {
    const { clock, run, client } = setUp(() => problem(409, 'run.idempotency.conflict'));
    await expect(clock.run(client.submit(requestOf(), { person: ann }))).rejects.toMatchObject({
      code: 'run_problem',
      status: 409,
      problem: 'run.idempotency.conflict',
      retryable: false,
    });
    expect(run.seen).toHaveLength(1);
  });

  test('C97: a duplicate submit answers the job there is, in whatever state', async () => {
    const { clock, client } = setUp(() => submitAnswer(jobIn('succeeded'), false));
    const answer = await clock.run(client.submit(requestOf(), { person: ann }));
    expect(answer).toMatchObject({ created: false, job: { id: ids.job, state: 'succeeded' } });
  });

  test('C100: without a token nothing was sent; without an answer something may run; the key finds it', async () => {
    let broken = true;
    const { clock, run, client } = setUp(
      () => (broken ? new TypeError('fetch failed') : submitAnswer(jobIn('running'), false)),
      {
        token: () => {
          if (run.seen.length === 0 && noToken) throw new Error('no token');
          return 'tok';
        },
      },
    );
    let noToken = true;
    await expect(clock.run(client.submit(requestOf(), { person: ann }))).rejects.toMatchObject({
      code: 'run_unreachable',
      sent: 0,
    });
    noToken = false;
    await expect(clock.run(client.submit(requestOf(), { person: ann }))).rejects.toMatchObject({
      code: 'run_unreachable',
      sent: 4,
    });
    broken = false;
    const answer = await clock.run(client.submit(requestOf(), { person: ann }));
    expect(answer.created).toBe(false);
    expect(
      new Set(run.seen.map(({ body }) => (body as { idempotency_key: string }).idempotency_key)).size,
    ).toBe(1);
  });

  test('a key that is none is refused before anything is sent', async () => {
    const { run, client } = setUp(() => problem(422, 'run.invalid_input'));
    const request = { ...requestOf(), idempotency_key: 'a b' };
    await expect(client.submit(request, { person: ann })).rejects.toMatchObject({ code: 'option_invalid' });
    expect(run.seen).toHaveLength(0);
  });
});

describe('C98: retries', () => {
  test.each([408, 425, 429, 502, 503, 504])(
    '%i is retried and given up after the last attempt',
    async (status) => {
      const { clock, run, client } = setUp(() => problem(status, 'run.busy'));
      await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({
        status,
        retryable: true,
      });
      expect(run.seen).toHaveLength(4);
    },
  );

  test.each([400, 403, 404, 409, 413, 422, 500, 501])('%i is not retried', async (status) => {
    const { clock, run, client } = setUp(() => problem(status, 'run.other'));
    await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({
      status,
      retryable: false,
    });
    expect(run.seen).toHaveLength(1);
  });

  test('a POST without a key is sent once', async () => {
    const { clock, run, client } = setUp(() => problem(503, 'run.busy'));
    await expect(clock.run(client.streamTicket(ids.job, { person: ann }))).rejects.toMatchObject({
      status: 503,
    });
    expect(run.seen).toHaveLength(1);
  });

  test('each attempt has its own timeout, its own signal and its own request id', async () => {
    const { clock, run, client } = setUp((_, nth) => (nth < 3 ? never() : jobAnswer(jobIn('running'))), {
      requestTimeoutMs: 500,
    });
    const start = clock.now();
    await clock.run(client.get(ids.job, { person: ann }));
    expect(clock.slept.filter((ms) => ms === 500)).toHaveLength(3);
    expect(clock.now() - start).toBeGreaterThanOrEqual(1000);
    expect(run.seen.map(({ signal }) => signal.aborted)).toEqual([true, true, false]);
    expect(new Set(run.seen.map(({ headers }) => headers.get('x-openvibe-request-id'))).size).toBe(3);
    expect(clock.pending()).toBe(0);
  });

  test('a body that never ends is cut by the same timeout', async () => {
    const stalled = (): Response =>
      new Response(new ReadableStream({ start: (c) => c.enqueue(new TextEncoder().encode('{')) }), {
        headers: { 'content-type': 'application/json' },
      });
    const { clock, client } = setUp(stalled, { retries: 0, requestTimeoutMs: 700 });
    const start = clock.now();
    await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({
      code: 'run_unreachable',
    });
    expect(clock.now() - start).toBe(700);
  });

  test('the caller’s abort ends an attempt and a wait at once and is never retried', async () => {
    for (const answer of [never, () => problem(503, 'run.busy')]) {
      const { clock, run, client } = setUp(answer);
      const controller = new AbortController();
      const work = client.get(ids.job, { person: ann, signal: controller.signal });
      work.catch(() => {});
      await clock.advance(10);
      controller.abort();
      await expect(work).rejects.toMatchObject({ code: 'aborted' });
      await clock.advance(60_000);
      expect(run.seen).toHaveLength(1);
      expect(clock.pending()).toBe(0);
    }
  });

  test('an abort before the call sends nothing', async () => {
    const { run, client } = setUp(() => jobAnswer(jobIn('queued')));
    await expect(client.get(ids.job, { person: ann, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(run.seen).toHaveLength(0);
  });

  test.each([
    ['seconds', '7', 7000],
    ['an HTTP date', 'Fri, 20 Nov 2026 10:00:12 GMT', 12_000],
    ['a date that has passed', 'Fri, 20 Nov 2026 09:00:00 GMT', 0],
    ['seconds above the ceiling', '86400', 30_000],
    ['a date above the ceiling', 'Sun, 20 Dec 2026 10:00:00 GMT', 30_000],
  ])('Retry-After in %s is honoured up to the ceiling', async (_, header, waited) => {
    const { clock, run, client } = setUp((__, nth) =>
      nth === 1 ? problem(429, 'run.busy', {}, { 'retry-after': header }) : jobAnswer(jobIn('queued')),
    );
    const start = clock.now();
    await clock.run(client.get(ids.job, { person: ann }));
    expect(clock.now() - start).toBe(waited);
    expect(run.seen).toHaveLength(2);
  });

  test.each(['-1', '1.5', 'soon', '1e9', '99999999999', '2026-11-20T10:00:12Z'])(
    'a Retry-After of %s is none: the wait is the usual one',
    async (header) => {
      const { clock, client } = setUp((__, nth) =>
        nth === 1 ? problem(503, 'run.busy', {}, { 'retry-after': header }) : jobAnswer(jobIn('queued')),
      );
      const start = clock.now();
      await clock.run(client.get(ids.job, { person: ann }));
      expect(clock.now() - start).toBeGreaterThanOrEqual(150);
      expect(clock.now() - start).toBeLessThanOrEqual(300);
    },
  );

  test('C103: no answer in time names the job and how often it was asked, and is no end of the job', async () => {
    const { clock, client } = setUp(never, { requestTimeoutMs: 500, retries: 1 });
    await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({
      code: 'run_unreachable',
      sent: 2,
      retryable: true,
      message: `reading ${ids.job}: no answer within 500 ms. Sent 2 times; what was asked may still happen.`,
    });
  });
});

describe('C104: identity', () => {
  test('the person and project of each call stand in its own headers, 1000 interleaved', async () => {
    const { run, client } = setUp(({ headers }) =>
      jobAnswer(jobIn('queued', { project_id: headers.get('x-ov-project') ?? '' })),
    );
    const jobs = await Promise.all(
      Array.from({ length: 1000 }, (_, n) => client.get(ids.job, { person: n % 2 === 0 ? ann : bob })),
    );
    expect(jobs.every((job, n) => job.project_id === (n % 2 === 0 ? ann : bob).project)).toBe(true);
    expect(
      run.seen.every(({ headers }) =>
        [ann, bob].some(
          ({ subject, project }) =>
            headers.get('x-ov-subject') === subject && headers.get('x-ov-project') === project,
        ),
      ),
    ).toBe(true);
  });

  test.each([
    '',
    'usr_1',
    ` ${ids.ann}`,
    `${ids.ann}\r\nX-OV-Project: ${ids.bobProject}`,
    `${ids.ann}\n`,
    ids.annProject,
    ids.ann.toLowerCase(),
  ])('a subject of %j is refused and nothing is sent', async (subject) => {
    const { run, client } = setUp(() => jobAnswer(jobIn('queued')));
    await expect(client.get(ids.job, { person: { ...ann, subject } })).rejects.toMatchObject({
      code: 'option_invalid',
    });
    expect(run.seen).toHaveLength(0);
  });

  test('changing the object after the call was made changes nothing, on the retry either', async () => {
    const person = { ...ann };
    const { clock, run, client } = setUp((_, nth) =>
      nth === 1 ? new TypeError('fetch failed') : jobAnswer(jobIn('queued')),
    );
    const work = client.get(ids.job, { person });
    Object.assign(person, bob);
    await clock.run(work);
    expect(run.seen.map(({ headers }) => headers.get('x-ov-subject'))).toEqual([ids.ann, ids.ann]);
  });

  test.each(['../x', 'job_1', `${ids.job}/cancel`, `${ids.job}?x=`, `${ids.job}\n`])(
    'a job id of %j never becomes a path',
    async (jobId) => {
      const { run, client } = setUp(() => jobAnswer(jobIn('queued')));
      const context = { person: ann };
      const calls = [client.get, client.cancel, client.stream, client.streamTicket, client.diagnostics];
      for (const call of calls) {
        await expect(call(jobId, context)).rejects.toMatchObject({ code: 'option_invalid' });
      }
      expect(run.seen).toHaveLength(0);
    },
  );

  test('the host’s traceparent is sent; one that is none is replaced', async () => {
    const given = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
    const hooks = [() => given, () => 'x\r\ny: z', () => `00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`];
    const sent: (string | null | undefined)[] = [];
    for (const traceparent of [...hooks, () => assertNever()]) {
      const { run, client } = setUp(() => jobAnswer(jobIn('queued')), { traceparent });
      await client.get(ids.job, { person: ann });
      sent.push(run.seen[0]?.headers.get('traceparent'));
    }
    expect(sent[0]).toBe(given);
    expect(new Set(sent).size).toBe(4);
  });
});

function assertNever(): never {
  throw new Error('the hook failed');
}

describe('answers', () => {
  const bad: [string, () => Response][] = [
    ['another content type', () => new Response(JSON.stringify(jobIn('queued')))],
    ['HTML', () => new Response('<p>ok</p>', { headers: { 'content-type': 'text/html' } })],
    ['no JSON', () => new Response('{', { headers: { 'content-type': 'application/json' } })],
    ['an empty body', () => new Response(null, { headers: { 'content-type': 'application/json' } })],
    [
      'a key twice',
      () => new Response('{"id":1,"id":2}', { headers: { 'content-type': 'application/json' } }),
    ],
    [
      'bytes that are not UTF-8',
      () =>
        new Response(new Uint8Array([0x22, 0xff, 0x22]), { headers: { 'content-type': 'application/json' } }),
    ],
    ['another job', () => jobAnswer(jobIn('queued', { id: ids.otherJob }))],
    ['a missing key', () => json({ ...jobIn('queued'), timings: undefined })],
    ['a state that is none', () => json({ ...jobIn('queued'), state: 'done' })],
    ['too many bytes', () => json({ ...jobIn('queued'), result: 'x'.repeat(70_000) })],
    [
      'a result with a forbidden key',
      () =>
        new Response(JSON.stringify(jobIn('succeeded')).replace('"slug"', '"__proto__"'), {
          headers: { 'content-type': 'application/json' },
        }),
    ],
  ];
  test.each(bad)(
    '%s is run_answer_invalid, not retried, and nothing of it is repeated',
    async (_, answer) => {
      const { clock, run, client } = setUp(answer, { maxResponseBytes: 65_536 });
      const error = await clock.run(client.get(ids.job, { person: ann })).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'run_answer_invalid' });
      expect((error as Error).cause).toBeUndefined();
      expect((error as Error).message).not.toMatch(/xxx|<p>|done|__proto__/);
      expect(run.seen).toHaveLength(1);
    },
  );

  test('a body that never stops is cut at the limit', async () => {
    let pulled = 0;
    const { clock, client } = setUp(
      () =>
        new Response(
          new ReadableStream({
            pull: (controller) => {
              pulled += 1;
              controller.enqueue(new Uint8Array(65_536).fill(0x20));
            },
          }),
          { headers: { 'content-type': 'application/json' } },
        ),
      { maxResponseBytes: 1_048_576 },
    );
    await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({
      code: 'run_answer_invalid',
    });
    expect(pulled).toBeLessThan(24);
  });

  test('C94: a result whose keys are odd names is a result like any other', async () => {
    const result = { constructor: 'Ferrari', prototype: [{ constructor: null }] };
    const { client } = setUp(() => json(jobIn('succeeded', { result: result as unknown as Json })));
    expect((await client.get(ids.job, { person: ann })).result).toEqual(result);
  });

  test('fields that a newer Run adds are dropped', async () => {
    const { client } = setUp(() => json({ ...jobIn('queued'), later: 1 }));
    expect(await client.get(ids.job, { person: ann })).toEqual(jobIn('queued'));
  });

  test('list, cancel and diagnostics speak their paths', async () => {
    const { run, client } = setUp(({ line, url }) => {
      if (line.endsWith('/cancel')) return jobAnswer(jobIn('running'));
      if (line.endsWith('/diagnostics')) {
        return url.pathname.includes(ids.otherJob)
          ? problem(404, 'run.not_found')
          : json({ stderr: 'oops', targets: [{ host: 'a.example', port: 443, allowed: false, bytes: 0 }] });
      }
      return json({ jobs: [jobIn('queued')], next_cursor: 'a&b' });
    });
    const context = { person: ann };
    expect((await client.list({ state: 'queued', limit: 3, cursor: 'a&b=' }, context)).next_cursor).toBe(
      'a&b',
    );
    expect(run.seen[0]?.url.search).toBe('?limit=3&state=queued&cursor=a%26b%3D');
    expect((await client.cancel(ids.job, context)).state).toBe('running');
    expect((await client.diagnostics(ids.job, context))?.stderr).toBe('oops');
    expect(await client.diagnostics(ids.otherJob, context)).toBeUndefined();
    await expect(client.list({ limit: 201 }, context)).rejects.toMatchObject({ code: 'option_invalid' });
  });

  test('an unknown job is job_not_found; a 404 of anything else is not', async () => {
    const codes = ['run.job_not_found', 'run.no_such_path'];
    const { client } = setUp((_, nth) => problem(404, codes[nth - 1] ?? ''));
    await expect(client.get(ids.job, { person: ann })).rejects.toMatchObject({ code: 'job_not_found' });
    await expect(client.get(ids.job, { person: ann })).rejects.toMatchObject({
      code: 'run_problem',
      status: 404,
    });
  });
});

describe('options', () => {
  test.each([
    'http://openvibe.run',
    'https://u:p@openvibe.run',
    'https://openvibe.run?x=1',
    'https://openvibe.run#x',
    'ftp://openvibe.run',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    '//openvibe.run',
    '',
  ])('a base URL of %j is refused', (baseUrl) => {
    expect(() => createRunClient({ baseUrl, token: () => 't' })).toThrow(/baseUrl/);
  });

  test.each(['http://127.0.0.1:8080', 'http://localhost:1/', 'http://[::1]:9', 'https://run.example/x/'])(
    'a base URL of %j is taken',
    async (baseUrl) => {
      const { run, client } = setUp(() => jobAnswer(jobIn('queued')), { baseUrl });
      await client.get(ids.job, { person: ann });
      expect(run.seen[0]?.url.href).toBe(`${baseUrl.replace(/\/$/, '')}/api/v1/jobs/${ids.job}`);
    },
  );

  test.each([
    { requestTimeoutMs: 0 },
    { requestTimeoutMs: Number.POSITIVE_INFINITY },
    { retries: -1 },
    { retries: 1.5 },
    { maxRetryAfterMs: Number.NaN },
    { maxResponseBytes: 1 },
  ])('%j is refused', (options) => {
    expect(() => createRunClient({ token: () => 't', ...options })).toThrow(Object.keys(options)[0]);
  });
});
