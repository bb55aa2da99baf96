import { describe, expect, test } from 'vitest';
import { createJobEngine } from '../../src/link/jobs.ts';
import { refusal } from '../../src/link/refusal.ts';
import { createRunApi } from '../../src/link/run-api.ts';
import type { Job, StreamTicket } from '../../src/run/wire.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { expectContract, isOfContract } from '../support/contracts.ts';
import { ann, bob, handExecutor, jobRequest } from './helpers.ts';

const origin = 'http://127.0.0.1:4000';

function setUp(options: { maxStreams?: number } = {}) {
  const clock = createManualClock();
  const { runs, execute } = handExecutor();
  const signals: AbortSignal[] = [];
  const made = createJobEngine({
    clock,
    execute,
    place: (_job, spec) =>
      spec.egress === 'none' ? { node: 'link-1', provider: null, region: null } : undefined,
  });
  const engine: typeof made = {
    ...made,
    events(jobId, person, reading) {
      if (reading?.signal) signals.push(reading.signal);
      return made.events(jobId, person, reading);
    },
  };
  const people: Record<string, typeof ann> = { 'Bearer ann': ann, 'Bearer bob': bob };
  const api = createRunApi(engine, {
    clock,
    ...options,
    authenticate(request) {
      const person = people[request.headers.get('authorization') ?? ''];
      if (person === undefined) throw refusal(401, 'token.invalid', 'No.');
      return person;
    },
  });
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    api(
      new Request(`${origin}${path}`, {
        method,
        headers: {
          authorization: 'Bearer ann',
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    );
  const submit = async (change = {}): Promise<Job> =>
    ((await (await call('POST', '/api/v1/jobs', jobRequest(change))).json()) as { job: Job }).job;
  return { api, call, submit, runs, clock, signals, engine };
}

async function expectProblem(response: Response, status: number, code: string): Promise<void> {
  const problem: unknown = await response.json();
  expect([response.status, problem]).toEqual([status, expect.objectContaining({ status, code })]);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expectContract('problem', problem);
}

describe('submit', () => {
  test('201, then 200 for the repeat, each of the contract and never stored', async () => {
    const { call } = setUp();
    const body = jobRequest();
    expectContract('job-create-request', body);
    const first = await call('POST', '/api/v1/jobs', body);
    expect(first.status).toBe(201);
    expect(first.headers.get('cache-control')).toBe('no-store');
    expectContract('job-create-result', await first.json());
    const again = await call('POST', '/api/v1/jobs', body);
    expect(again.status).toBe(200);
    const answer = await again.json();
    expect(answer).toMatchObject({ created: false });
    expectContract('job-create-result', answer);
    await expectProblem(
      await call('POST', '/api/v1/jobs', { ...body, ttl_ms: 5000 }),
      409,
      'run.idempotency.conflict',
    );
  });

  test('only what is required is enough: the rest is filled, and the answer is of the contract', async () => {
    const { call } = setUp();
    const { class: kind, artifact, limits } = jobRequest();
    const response = await call('POST', '/api/v1/jobs', { class: kind, artifact, limits });
    expect(response.status).toBe(201);
    expectContract('job-create-result', await response.json());
  });

  const good = jobRequest();
  const input = good.inputs[0];
  const bad: [string, unknown][] = [
    ['an unknown field', { ...good, surprise: 1 }],
    ['an unknown field within', { ...good, artifact: { ...good.artifact, url: 'x' } }],
    ['an unknown field in the limits', { ...good, limits: { ...good.limits, gpu: 1 } }],
    ['a person of its own', { ...good, requester: { type: 'user', id: bob.subject } }],
    ['a class that is none', { ...good, class: 'wasm' }],
    ['a missing limit', { ...good, limits: { wall_ms: 1, cpu_ms: 1 } }],
    ['a limit of nothing', { ...good, limits: { wall_ms: 0, cpu_ms: 1, mem_bytes: 1 } }],
    ['half a millisecond', { ...good, limits: { wall_ms: 1.5, cpu_ms: 1, mem_bytes: 1 } }],
    ['a short ttl', { ...good, ttl_ms: 999 }],
    ['a long ttl', { ...good, ttl_ms: 86_400_001 }],
    ['the word deny', { ...good, egress: 'deny' }],
    ['a path as a name', { ...good, inputs: [{ ...input, name: '../x.js' }] }],
    ['a slash in a name', { ...good, inputs: [{ ...input, name: 'lib/x.js' }] }],
    ['a hash in capitals', { ...good, inputs: [{ ...input, sha256: 'A'.repeat(64) }] }],
    ['a hash and a line feed', { ...good, inputs: [{ ...input, sha256: `${input?.sha256}\n` }] }],
    [
      '33 inputs',
      { ...good, inputs: Array.from({ length: 33 }, (_, n) => ({ ...input, name: `f${n}.js` })) },
    ],
    ['args that are a list', { ...good, args: [] }],
    ['a version of a range', { ...good, artifact: { name: 'openvibe-skill-runner', version: '^1.0.0' } }],
    ['a key with a space', { ...good, idempotency_key: 'a b' }],
    ['no trust at all', { ...good, requirements: { ...good.requirements, trust: [] } }],
    ['an array', [good]],
    ['null', null],
    ['two values', `${JSON.stringify(good)}{}`],
    ['a key twice', JSON.stringify(good).replace('{', '{"class":"function",')],
    ['a prototype', '{"__proto__":{"class":"function"}}'],
    ['a deep nest', `{"args":${'['.repeat(5000)}${']'.repeat(5000)}}`],
    ['nothing', ''],
  ];
  test.each(bad)('400 for %s, and nothing is made', async (_name, body) => {
    const { call } = setUp();
    await expectProblem(await call('POST', '/api/v1/jobs', body), 400, 'run.invalid_request');
    expect(await (await call('GET', '/api/v1/jobs')).json()).toEqual({ jobs: [], next_cursor: null });
  });

  test('whatever the contract refuses of these is refused here too', () => {
    const values = bad.filter(([, body]) => typeof body !== 'string').map(([, body]) => body);
    expect(values.filter((body) => isOfContract('job-create-request', body))).toEqual([]);
  });

  test('a problem repeats no value of the request', async () => {
    const { call } = setUp();
    const response = await call('POST', '/api/v1/jobs', { ...good, ttl_ms: 'SECRET-1', egress: 'SECRET-2' });
    const text = await response.text();
    expect(text).not.toContain('SECRET');
    expect(JSON.parse(text)).toMatchObject({ errors: [{ path: 'ttl_ms' }, { path: 'egress' }] });
  });

  test('413 for args over 512 KiB, and for a body that says or has more than is read', async () => {
    const { call, api } = setUp();
    const args = { ...good.args, input: { title: 'x'.repeat(524_288) } };
    await expectProblem(await call('POST', '/api/v1/jobs', { ...good, args }), 413, 'run.args_too_large');
    const long = 'x'.repeat(600_000);
    await expectProblem(await call('POST', '/api/v1/jobs', long), 413, 'run.args_too_large');
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 65_536;
        controller.enqueue(new Uint8Array(65_536));
      },
    });
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      headers: { authorization: 'Bearer ann', 'content-type': 'application/json' },
      body: endless,
      duplex: 'half',
    };
    const response = await api(new Request(`${origin}/api/v1/jobs`, init));
    await expectProblem(response, 413, 'run.args_too_large');
    expect(sent).toBeLessThan(1_000_000);
  });

  test('C105: caps are refused, never lowered', async () => {
    const { call } = setUp();
    for (const limit of [{ wall_ms: 30_001 }, { cpu_ms: 30_001 }, { mem_bytes: 268_435_457 }]) {
      const body = { ...good, limits: { ...good.limits, ...limit } };
      await expectProblem(await call('POST', '/api/v1/jobs', body), 422, 'run.limits.exceeded');
    }
  });

  test('422 for a class other than function, for two inputs of one name and for the project of another', async () => {
    const { call } = setUp();
    await expectProblem(
      await call('POST', '/api/v1/jobs', { ...good, class: 'linux' }),
      422,
      'run.invalid_input',
    );
    const twice = { ...good, inputs: [input, input] };
    await expectProblem(await call('POST', '/api/v1/jobs', twice), 422, 'run.invalid_input');
    const requirements = { ...good.requirements, project_id: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPX' };
    const other = { ...good, requirements };
    await expectProblem(await call('POST', '/api/v1/jobs', other), 422, 'run.invalid_input');
  });

  test('the key may stand in the header; both and different is 422', async () => {
    const { call } = setUp();
    const { idempotency_key: _, ...keyless } = jobRequest();
    const key = { 'idempotency-key': 'header-key' };
    const first = await call('POST', '/api/v1/jobs', keyless, key);
    expect(await first.json()).toMatchObject({ created: true, job: { idempotency_key: 'header-key' } });
    const both = await call('POST', '/api/v1/jobs', { ...keyless, idempotency_key: 'header-key' }, key);
    expect(both.status).toBe(200);
    const differ = await call('POST', '/api/v1/jobs', { ...keyless, idempotency_key: 'other' }, key);
    await expectProblem(differ, 422, 'run.invalid_input');
    const odd = await call('POST', '/api/v1/jobs', keyless, { 'idempotency-key': 'a b' });
    await expectProblem(odd, 400, 'run.invalid_request');
  });

  test('415 for a type that a page may send without asking', async () => {
    const { call } = setUp();
    const type = { 'content-type': 'text/plain' };
    const response = await call('POST', '/api/v1/jobs', good, type);
    await expectProblem(response, 415, 'run.unsupported_media_type');
  });
});

describe('read, list, cancel', () => {
  test('answer jobs of the contract', async () => {
    const { call, submit, runs } = setUp();
    const { id } = await submit();
    expectContract('job', await (await call('GET', `/api/v1/jobs/${id}`)).json());
    runs[0]?.control.onStart();
    const cancelled = await call('POST', `/api/v1/jobs/${id}/cancel`);
    expect(cancelled.status).toBe(200);
    const job = await cancelled.json();
    expect(job).toMatchObject({ state: 'running' });
    expectContract('job', job);
    expect((await call('POST', `/api/v1/jobs/${id}/cancel`)).status).toBe(200);
    expectContract(
      'job-list-result',
      await (await call('GET', '/api/v1/jobs?state=running&limit=200')).json(),
    );
  });

  test.each(['state=done', 'limit=0', 'limit=201', 'limit=1e2', 'cursor=x', 'cursor=-1'])(
    '400 for the query %s',
    async (query) => {
      await expectProblem(await setUp().call('GET', `/api/v1/jobs?${query}`), 400, 'run.invalid_request');
    },
  );

  test('404 for another person, for no job, for no id and for no address', async () => {
    const { call, submit } = setUp();
    const { id } = await submit();
    const asBob = { authorization: 'Bearer bob' };
    const none = 'job_01JAB2C3D4E5F6G7H8J9K0MNPQ';
    for (const [path, headers] of [
      [id, asBob],
      [none, {}],
      ['..%2f..', {}],
      ['constructor', {}],
    ] as const) {
      await expectProblem(
        await call('GET', `/api/v1/jobs/${path}`, undefined, headers),
        404,
        'run.job_not_found',
      );
    }
    for (const path of ['cancel', 'stream/ticket']) {
      const response = await call('POST', `/api/v1/jobs/${id}/${path}`, undefined, asBob);
      await expectProblem(response, 404, 'run.job_not_found');
    }
    for (const path of ['stream', 'diagnostics']) {
      const response = await call('GET', `/api/v1/jobs/${id}/${path}`, undefined, asBob);
      await expectProblem(response, 404, 'run.job_not_found');
    }
    await expectProblem(await call('GET', '/api/v2/jobs'), 404, 'run.not_found');
    await expectProblem(await call('DELETE', `/api/v1/jobs/${id}`), 405, 'run.method_not_allowed');
  });

  test('401 without a token', async () => {
    const response = await setUp().call('GET', '/api/v1/jobs', undefined, { authorization: '' });
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    await expectProblem(response, 401, 'token.invalid');
  });

  test('an error nobody foresaw is 500 and says nothing', async () => {
    const { engine } = setUp();
    const api = createRunApi(engine, {
      authenticate: () => {
        throw new Error('secret');
      },
    });
    const response = await api(new Request(`${origin}/api/v1/jobs`));
    expect(await response.clone().text()).not.toContain('secret');
    await expectProblem(response, 500, 'run.internal');
  });

  test('diagnostics where they are kept, 404 where not', async () => {
    const { call, submit, runs } = setUp();
    const { id } = await submit();
    const path = `/api/v1/jobs/${id}/diagnostics`;
    await expectProblem(await call('GET', path), 404, 'run.diagnostics_not_found');
    const diagnostics = { stderr: 'oh', targets: [] };
    runs[0]?.end({ state: 'succeeded', result: null, diagnostics });
    await new Promise(setImmediate);
    expect(await (await call('GET', path)).json()).toEqual(diagnostics);
  });

  test('the trace is echoed where it is one, and stands in problems', async () => {
    const { call } = setUp();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const response = await call('GET', '/api/v2', undefined, {
      traceparent,
      'x-openvibe-request-id': 'request-1',
    });
    expect(response.headers.get('traceparent')).toBe(traceparent);
    expect(response.headers.get('x-openvibe-request-id')).toBe('request-1');
    expect(await response.json()).toMatchObject({
      request_id: 'request-1',
      trace_id: '0af7651916cd43dd8448eb211c80319c',
    });
    const odd = await call('GET', '/api/v1/jobs', undefined, {
      traceparent: '00-zz-xx-01',
      'x-openvibe-request-id': '<script>',
    });
    expect(odd.headers.get('traceparent')).toBeNull();
    expect(odd.headers.get('x-openvibe-request-id')).toMatch(/^[0-9a-f]{24}$/);
  });
});

describe('stream', () => {
  const frames = (text: string) =>
    text
      .split('\n\n')
      .filter((frame) => frame.startsWith('id: '))
      .map((frame) => {
        const [, id, event, data] = /^id: (\d+)\nevent: (\w+)\ndata: (.+)$/.exec(frame) ?? [];
        return { id: Number(id), event, data: JSON.parse(data ?? 'null') as { seq: number; type: string } };
      });

  test('frames carry id, event and data of the contract; Last-Event-ID goes on after it', async () => {
    const { call, submit, runs } = setUp();
    const { id } = await submit();
    const path = `/api/v1/jobs/${id}/stream`;
    const live = await call('GET', path);
    expect(live.headers.get('content-type')).toContain('text/event-stream');
    runs[0]?.control.onStart();
    runs[0]?.control.onOutput('line\n\nid: 99\ndata: forged\n\n');
    runs[0]?.end({ state: 'succeeded', result: 1 });
    const all = frames(await live.text());
    expect(all.map(({ event }) => event)).toEqual(['state', 'state', 'state', 'output', 'end']);
    for (const frame of all) {
      expectContract('job-stream-event', frame.data);
      expect([frame.id, frame.event]).toEqual([frame.data.seq, frame.data.type]);
    }
    const rest = await call('GET', path, undefined, { 'last-event-id': '3' });
    expect(frames(await rest.text()).map((frame) => frame.id)).toEqual([4, 5]);
    const odd = await call('GET', path, undefined, { 'last-event-id': '3; drop' });
    await expectProblem(odd, 400, 'run.invalid_request');
  });

  test('a comment every 25 s keeps it alive', async () => {
    const { call, submit, clock } = setUp();
    const { id } = await submit();
    const reader = (
      (await call('GET', `/api/v1/jobs/${id}/stream`)).body as ReadableStream<Uint8Array>
    ).getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await next()).toContain('queued');
    expect(await next()).toContain('placed');
    const quiet = next();
    await clock.advance(24_999);
    await clock.advance(1);
    expect(await quiet).toMatch(/^: .*\n\n$/);
    await reader.cancel();
  });

  test('a client that goes away leaves no reader, no timer and its place', async () => {
    const { call, submit, signals, clock } = setUp({ maxStreams: 1 });
    const { id } = await submit();
    const path = `/api/v1/jobs/${id}/stream`;
    const before = clock.sleepers;
    const first = await call('GET', path);
    const reader = (first.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await expectProblem(await call('GET', path), 503, 'run.stream.busy');
    await reader.cancel();
    expect(signals.map((signal) => signal.aborted)).toEqual([true]);
    expect(clock.sleepers).toBe(before);
    expect((await call('GET', path)).status).toBe(200);
  });

  test('a ticket opens one stream of one job, once, for two minutes, without a token', async () => {
    const { call, submit, clock, runs } = setUp();
    const { id } = await submit();
    const other = await submit();
    runs[0]?.end({ state: 'cancelled' });
    const issue = async (): Promise<StreamTicket> => {
      const response = await call('POST', `/api/v1/jobs/${id}/stream/ticket`);
      expect(response.status).toBe(200);
      const ticket = (await response.json()) as StreamTicket;
      expectContract('job-stream-ticket', ticket);
      return ticket;
    };
    const open = (jobId: string, { ticket }: StreamTicket) =>
      call('GET', `/api/v1/jobs/${jobId}/stream?ticket=${ticket}`, undefined, { authorization: '' });

    const once = await issue();
    expect(once.stream_url).toBe(`${origin}/api/v1/jobs/${id}/stream`);
    expect(frames(await (await open(id, once)).text()).at(-1)?.event).toBe('end');
    await expectProblem(await open(id, once), 401, 'token.invalid');

    const crossed = await issue();
    await expectProblem(await open(other.id, crossed), 401, 'token.invalid');
    await expectProblem(await open(id, crossed), 401, 'token.invalid');

    const old = await issue();
    await clock.advance(120_000);
    await expectProblem(await open(id, old), 401, 'token.invalid');
    // A ticket is for its stream alone.
    const spare = await issue();
    const read = await call('GET', `/api/v1/jobs/${id}?ticket=${spare.ticket}`, undefined, {
      authorization: '',
    });
    await expectProblem(read, 401, 'token.invalid');
  });
});
