import { getResponse } from 'msw';
import { describe, expect, test } from 'vitest';
import type { Job, JobRequest } from '../../src/run/wire.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import type { MockRun, MockRunOptions } from '../../src/testing/mock-run.ts';
import { createMockRun } from '../../src/testing/mock-run.ts';
import type { MockEnd } from '../../src/testing/mock-script.ts';
import { ann, bob, jobRequest } from '../link/helpers.ts';
import { expectContract } from '../support/contracts.ts';

function setUp(options: MockRunOptions = {}) {
  const clock = createManualClock();
  const mock = createMockRun({ clock, ...options });
  return { clock, mock, ...clientOf(mock, mock.baseUrl) };
}

function clientOf(mock: Pick<MockRun, 'fetch'>, baseUrl: string) {
  const call = (method: string, path: string, body?: unknown, init: RequestInit = {}) =>
    mock.fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        authorization: 'Bearer token-1',
        'x-ov-subject': ann.subject,
        'x-ov-project': ann.project,
        'content-type': 'application/json',
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...init,
    });
  const submit = async (change: Partial<JobRequest> = {}): Promise<Job> => {
    const response = await call('POST', '/api/v1/jobs', poolRequest(change));
    const made = (await response.json()) as { job: Job };
    expectContract('job-create-result', made);
    return made.job;
  };
  const get = async (id: string): Promise<Job> =>
    (await (await call('GET', `/api/v1/jobs/${id}`)).json()) as Job;
  const stream = async (id: string): Promise<string> =>
    (await call('GET', `/api/v1/jobs/${id}/stream`)).text();
  return { call, submit, get, stream };
}

function poolRequest(change: Partial<JobRequest> = {}): JobRequest {
  const request = jobRequest(change);
  return { ...request, requirements: { ...request.requirements, trust: ['first-party'] }, ...change };
}

describe('scripts', () => {
  const ends: [MockEnd, Partial<Job>][] = [
    [{ result: { slug: 'a' } }, { state: 'succeeded', result: { slug: 'a' } }],
    [
      { result: null, wallMs: 250 },
      { usage: { seconds: 0.25, wall_ms: 250, cpu_ms: 250, mem_peak_bytes: null } },
    ],
    [
      { fail: 'run.job.exit_nonzero', detail: 'exit 3', exitCode: 3 },
      {
        state: 'failed',
        exit: { reason: 'exited', code: 3 },
        error: { code: 'run.job.exit_nonzero', detail: 'exit 3' },
      },
    ],
    [
      { fail: 'run.job.input_digest_mismatch', started: false },
      {
        state: 'failed',
        exit: { reason: 'failed', code: null },
        timings: expect.objectContaining({ started_at: null }),
      },
    ],
    [{ limit: true }, { state: 'failed', exit: { reason: 'limit', code: null } }],
    [{ cancelled: true }, { state: 'cancelled', exit: { reason: 'cancelled', code: null } }],
    [
      { expired: true },
      { state: 'expired', error: { code: 'run.job.ttl', detail: 'Not started within its ttl.' } },
    ],
    [
      { result: 1, node: 'elsewhere' },
      { placement: { node: 'elsewhere', provider: 'mock', region: 'eu-test' } },
    ],
  ];
  test.each(ends)('%j ends as it says, by the contract', async (end, expected) => {
    const { mock, submit, get, stream } = setUp();
    mock.next(end);
    const { id } = await submit();
    expect(await stream(id)).toContain('event: end');
    const job = await get(id);
    expect(job).toMatchObject(expected);
    expectContract('job', job);
  });

  test('several, in the order of the jobs; then what `otherwise` says', async () => {
    const { mock, submit, get, stream } = setUp({ otherwise: (spec) => ({ result: spec.args }) });
    mock.next({ result: 1 });
    mock.next({ result: 2 });
    const ids = [(await submit()).id, (await submit()).id, (await submit()).id];
    await stream(ids[2] ?? '');
    const results = await Promise.all(ids.map(async (id) => (await get(id)).result));
    expect(results).toEqual([1, 2, poolRequest().args]);
    expect([mock.submits, mock.jobs]).toEqual([3, 3]);
  });

  test('delays go by the clock', async () => {
    const { mock, submit, get, clock } = setUp();
    mock.next({ result: 1, placedMs: 100, runMs: 1000, output: ['half'] });
    const { id } = await submit();
    expect((await get(id)).state).toBe('placed');
    await clock.advance(100);
    expect((await get(id)).state).toBe('running');
    await clock.advance(1000);
    expect(await get(id)).toMatchObject({ state: 'succeeded', usage: { wall_ms: 1000 } });
  });

  test('a job that hangs ends with its ttl, unless it hangs for ever', async () => {
    for (const [hang, state] of [
      ['until-cancel', 'expired'],
      ['forever', 'running'],
    ] as const) {
      const { mock, submit, get, clock } = setUp();
      mock.next({ hang, wallMs: 900 });
      const { id } = await submit();
      await clock.advance(120_000);
      expect(await get(id)).toMatchObject({ state });
      if (state === 'expired') expect(await get(id)).toMatchObject({ usage: { wall_ms: 900 } });
    }
  });

  test('unplaceable, or a network without such a node: queued until the ttl, then expired', async () => {
    for (const nodes of [undefined, [], [{ node: 'n', trust: 'first-party', nets: ['public'] } as const]]) {
      const { mock, submit, get, clock } = setUp({ ...(nodes && { nodes }) });
      if (nodes === undefined) mock.next({ unplaceable: true });
      const { id } = await submit();
      await clock.advance(119_999);
      expect((await get(id)).state).toBe('queued');
      await clock.advance(1);
      expect(await get(id)).toMatchObject({ state: 'expired', error: { code: 'run.job.unplaceable' } });
    }
  });

  test('a hang hears a cancel, or not', async () => {
    const { mock, submit, get, call, stream } = setUp();
    mock.next({ hang: 'until-cancel' });
    mock.next({ hang: 'forever' });
    const [kind, deaf] = [await submit(), await submit()];
    for (const { id } of [kind, deaf]) await call('POST', `/api/v1/jobs/${id}/cancel`);
    expect(await stream(kind.id)).toContain('"cancelled"');
    expect((await get(deaf.id)).state).toBe('running');
    await mock.close();
  });

  test('a lie stands in every answer about the job', async () => {
    const { mock, call, get } = setUp();
    mock.next({ result: 1, lie: { project_id: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPX', egress: 'public' } });
    const made = (await (await call('POST', '/api/v1/jobs', poolRequest())).json()) as { job: Job };
    const lie = { project_id: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPX', egress: 'public' };
    expect(made.job).toMatchObject(lie);
    expect(await get(made.job.id)).toMatchObject(lie);
    const list = (await (await call('GET', '/api/v1/jobs')).json()) as { jobs: Job[] };
    expect(list.jobs).toEqual([expect.objectContaining(lie)]);
  });

  const broken: [string, object][] = [
    ['end', {}],
    ['end', { result: 1, limit: true }],
    ['end', { fial: 'run.job.limit' }],
    ['fail', { fail: 'any text' }],
    ['fail', { fail: 'run.Job' }],
    ['fail', { fail: 'run.job.limit\n' }],
    ['fail', { fail: undefined }],
    ['detail', { fail: 'run.job.limit', detail: 'x'.repeat(1025) }],
    ['detail', { limit: true, detail: '😀'.repeat(1025) }],
    ['detail', { limit: true, detail: 7 }],
    ['exitCode', { fail: 'run.job.exit_nonzero', exitCode: 1.5 }],
    ['exitCode', { fail: 'run.job.exit_nonzero', exitCode: Number.NaN }],
    ['exitCode', { fail: 'run.job.exit_nonzero', exitCode: '1' }],
    ['result', { result: undefined }],
    ['result', { result: 1n }],
    ['result', { result: () => 1 }],
    ['node', { result: 1, node: '' }],
    ['node', { result: 1, node: 'n'.repeat(129) }],
    ['wallMs', { result: 1, wallMs: -1 }],
    ['wallMs', { result: 1, wallMs: 0.5 }],
    ['hang', { hang: 'a while' }],
  ];
  test.each(broken)('a script with such a %s is refused at once, not played: %o', async (name, end) => {
    const { mock, submit, get, stream } = setUp({ otherwise: () => end as MockEnd });
    expect(() => mock.next(end as MockEnd)).toThrow(
      expect.objectContaining({
        code: 'option_invalid',
        message: expect.stringMatching(new RegExp(`^script.${name}: `)),
      }),
    );
    const { id } = await submit();
    await stream(id);
    const job = await get(id);
    expectContract('job', job);
    expect(job.error).toEqual({
      code: 'run.job.worker_failed',
      detail: expect.stringContaining(`otherwise: SkillRunError: script.${name}: `),
    });
  });

  test('the longest of everything is played', async () => {
    const { mock, submit, get, stream } = setUp();
    const fail = `run.${'a'.repeat(200)}`;
    mock.next({ fail, detail: '😀'.repeat(1024), exitCode: -1, node: '😀'.repeat(128), wallMs: 0 });
    const { id } = await submit();
    await stream(id);
    const job = await get(id);
    expectContract('job', job);
    expect(job).toMatchObject({ error: { code: fail }, exit: { code: -1 } });
  });

  test('an `otherwise` that throws ends its job, and says why in it', async () => {
    const { submit, get, stream } = setUp({
      otherwise: () => {
        throw new Error('no such job in this test');
      },
    });
    const { id } = await submit();
    await stream(id);
    expect((await get(id)).error?.detail).toBe('otherwise: Error: no such job in this test');
  });

  test('diagnostics where the script has some', async () => {
    const { mock, submit, call, stream } = setUp();
    mock.next({ result: 1, stderr: 'oh' });
    const { id } = await submit();
    await stream(id);
    const response = await call('GET', `/api/v1/jobs/${id}/diagnostics`);
    expect(await response.json()).toEqual({ stderr: 'oh', targets: [] });
  });
});

describe('faults', () => {
  test('C96: an answer lost after the work: two submits, one job', async () => {
    const { mock, call } = setUp();
    mock.fault({ on: 'submit', kind: 'drop-after' });
    const body = poolRequest();
    await expect(call('POST', '/api/v1/jobs', body)).rejects.toThrow(TypeError);
    expect((await call('POST', '/api/v1/jobs', body)).status).toBe(200);
    expect([mock.submits, mock.jobs, mock.requests.length]).toEqual([2, 1, 2]);
  });

  test('a request that never arrived: no submit, no job', async () => {
    const { mock, call } = setUp();
    mock.fault({ on: 'submit', kind: 'drop-before', times: 2 });
    for (let n = 0; n < 2; n += 1) {
      await expect(call('POST', '/api/v1/jobs', poolRequest())).rejects.toThrow('fetch failed');
    }
    expect([mock.submits, mock.jobs]).toEqual([0, 0]);
    expect((await call('POST', '/api/v1/jobs', poolRequest())).status).toBe(201);
  });

  test('a status, a problem, garbage: each on its own call alone', async () => {
    const { mock, call, submit } = setUp();
    const { id } = await submit();
    mock.fault({ on: 'get', kind: 'status', status: 503, retryAfter: '2' });
    mock.fault({ on: 'get', kind: 'problem', status: 401, code: 'token.expired' });
    mock.fault({ on: 'get', kind: 'garbage' });
    expect((await call('GET', '/api/v1/jobs')).status).toBe(200);
    const get = () => call('GET', `/api/v1/jobs/${id}`);
    const busy = await get();
    expect([busy.status, busy.headers.get('retry-after'), await busy.text()]).toEqual([503, '2', '']);
    const problem = (await (await get()).json()) as unknown;
    expect(problem).toMatchObject({ status: 401, code: 'token.expired' });
    expectContract('problem', problem);
    await expect((await get()).json()).rejects.toThrow(SyntaxError);
    expectContract('job', await (await get()).json());
  });

  test('a slow call goes by the clock and hears an abort', async () => {
    const { mock, call, clock } = setUp();
    mock.fault({ on: 'list', kind: 'slow', ms: 5000, times: 2 });
    const slow = call('GET', '/api/v1/jobs');
    await clock.whenSleeping();
    await clock.advance(5000);
    expect((await slow).status).toBe(200);
    const stop = new AbortController();
    const aborted = call('GET', '/api/v1/jobs', undefined, { signal: stop.signal });
    await clock.whenSleeping();
    stop.abort();
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
    expect(clock.sleepers).toBe(0);
  });

  test('a stream that is cut off', async () => {
    const { mock, call, submit } = setUp();
    const { id } = await submit();
    mock.fault({ on: 'stream', kind: 'cut', after: 1 });
    const reader = (await call('GET', `/api/v1/jobs/${id}/stream`)).body?.getReader();
    expect(new TextDecoder().decode((await reader?.read())?.value)).toContain('"queued"');
    await expect(reader?.read()).rejects.toThrow(TypeError);
  });
});

describe('who asks', () => {
  const headers = (change: Record<string, string>) => ({
    headers: {
      authorization: 'Bearer t',
      'x-ov-subject': ann.subject,
      'x-ov-project': ann.project,
      ...change,
    },
  });
  test.each([
    [{ authorization: '' }, 401],
    [{ 'x-ov-subject': 'ann' }, 403],
    [{ 'x-ov-project': '' }, 403],
    [{ 'x-ov-subject': bob.subject }, 403],
  ])('%j is refused', async (change, status) => {
    const { call } = setUp({ person: ann });
    const response = await call('GET', '/api/v1/jobs', undefined, headers(change as Record<string, string>));
    expect(response.status).toBe(status);
    expectContract('problem', await response.json());
  });

  test('without a person it serves everyone, each his own', async () => {
    const { call, submit } = setUp();
    const { id } = await submit();
    const asBob = headers({ 'x-ov-subject': bob.subject });
    expect((await call('GET', '/api/v1/jobs', undefined, asBob)).status).toBe(200);
    expect((await call('GET', `/api/v1/jobs/${id}`, undefined, asBob)).status).toBe(404);
  });

  test('every request is kept, with headers and body', async () => {
    const { mock, submit, stream } = setUp();
    const { id } = await submit();
    await stream(id);
    expect(mock.requests[0]).toMatchObject({
      method: 'POST',
      path: '/api/v1/jobs',
      headers: { authorization: 'Bearer token-1', 'x-ov-subject': ann.subject },
      body: { class: 'function', egress: 'none' },
    });
    expectContract('job-create-request', mock.requests[0]?.body);
    expect(mock.requests[1]).toMatchObject({
      method: 'GET',
      path: `/api/v1/jobs/${id}/stream`,
      body: undefined,
    });
  });
});

test('the network offers its nodes as they are now', async () => {
  const { mock } = setUp();
  const offers = async () =>
    ((await (await mock.fetch(`${mock.networkUrl}/api/v1/offers?kind=node`)).json()) as { offers: unknown[] })
      .offers;
  expect(await offers()).toEqual([
    {
      offer_id: 'offer-node-pool-1',
      kind: 'node',
      node_id: 'node-pool-1',
      region: 'eu-test',
      trust: 'first-party',
      capabilities: [
        'worker:function',
        'function:openvibe-skill-runner-1.0.0',
        'egress:none',
        'egress:openvibe-only',
        'egress:public',
      ],
      health: { status: 'up' },
      pricing: { model: 'per-second' },
      capacity: { workers: 1 },
      updated_at: '2026-01-01T00:00:00.000Z',
    },
  ]);
  mock.setNodes([{ node: 'mine', trust: 'user-owned', nets: ['deny'], runsSkills: false, health: 'down' }]);
  expect(await offers()).toMatchObject([
    { node_id: 'mine', trust: 'user-owned', capabilities: ['worker:function'], health: { status: 'down' } },
  ]);
});

test('it answers through msw', async () => {
  const { mock } = setUp();
  mock.fault({ on: 'offers', kind: 'drop-before' });
  const handlers = await mock.handlers();
  const offers = () => getResponse(handlers, new Request(`${mock.networkUrl}/api/v1/offers?kind=node`));
  expect((await offers())?.type).toBe('error');
  expect((await offers())?.status).toBe(200);
  const jobs = await getResponse(handlers, new Request(`${mock.baseUrl}/api/v1/jobs`));
  expect(jobs?.status).toBe(401);
  expect(await getResponse(handlers, new Request('https://other.example/'))).toBeUndefined();
});

test('it listens on loopback, faults included, and stops', async () => {
  const mock = createMockRun();
  const { url } = await mock.listen();
  const { submit, get, stream, call } = clientOf({ fetch: globalThis.fetch }, url);
  mock.next({ result: 'over http' });
  const { id } = await submit();
  expect(await stream(id)).toContain('event: end');
  expect((await get(id)).result).toBe('over http');
  mock.fault({ on: 'get', kind: 'drop-after' });
  await expect(call('GET', `/api/v1/jobs/${id}`)).rejects.toThrow('fetch failed');
  await mock.close();
  await expect(call('GET', `/api/v1/jobs/${id}`)).rejects.toThrow('fetch failed');
});
