import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLink } from '../../src/link/link.ts';
import { listenOnLoopback } from '../../src/link/node-http.ts';
import type { RunEnd, ToolRun } from '../../src/link/sandbox/types.ts';
import type { LocalRun } from '../../src/link/serve-link.ts';
import { serveLink } from '../../src/link/serve-link.ts';
import type { Job } from '../../src/run/wire.ts';
import { expectContract } from '../support/contracts.ts';
import {
  ann,
  bob,
  code,
  codeHash,
  gate,
  jobRequest,
  mediaId,
  scriptedSandbox,
  untilKilled,
} from './helpers.ts';

let run: LocalRun;
let script: ((run: ToolRun) => Promise<RunEnd> | RunEnd) | undefined;
const scripted = scriptedSandbox((tool) => {
  if (script) return script(tool);
  tool.onStart?.();
  const usage = { wallMs: 5, cpuMs: null, memPeakBytes: null };
  return { kind: 'exited', value: 'ok', stderr: '', usage, targets: [] };
});

beforeEach(async () => {
  script = undefined;
  run = await serveLink(
    createLink({ owner: ann.subject, skills: 'on' }, async () => scripted.sandbox),
    ann.subject,
    {},
  );
  run.link.provide([{ mediaId, sha256: codeHash, bytes: code }]);
});
afterEach(() => run.close());

const headers = (change: Record<string, string> = {}): Record<string, string> => ({
  authorization: `Bearer ${run.token}`,
  'x-ov-subject': ann.subject,
  'x-ov-project': ann.project,
  'content-type': 'application/json',
  ...change,
});
const call = (method: string, path: string, body?: unknown, change?: Record<string, string>) =>
  fetch(`${run.url}${path}`, {
    method,
    headers: headers(change),
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
const submit = async (): Promise<Job> =>
  ((await (await call('POST', '/api/v1/jobs', jobRequest())).json()) as { job: Job }).job;

/** node:http, for the headers that fetch does not let one choose. */
async function raw(method: string, path: string, change: Record<string, string>) {
  const { port } = new URL(run.url);
  const request = httpRequest({ host: '127.0.0.1', port, method, path, headers: headers(change) });
  request.end();
  const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return {
    status: response.statusCode,
    body: JSON.parse(Buffer.concat(chunks).toString()) as { code: string },
  };
}

describe('a local Run', () => {
  test('speaks the contract over HTTP, from the submit to the end of the stream', async () => {
    const response = await call('POST', '/api/v1/jobs', jobRequest());
    expect(response.status).toBe(201);
    const made = (await response.json()) as { job: Job };
    expectContract('job-create-result', made);
    const stream = await call('GET', `/api/v1/jobs/${made.job.id}/stream`);
    expect(await stream.text()).toMatch(/event: end\ndata: .*"succeeded"/);
    const job = await (await call('GET', `/api/v1/jobs/${made.job.id}`)).json();
    expect(job).toMatchObject({ state: 'succeeded', result: 'ok' });
    expectContract('job', job);
    const ticket = (await (await call('POST', `/api/v1/jobs/${made.job.id}/stream/ticket`)).json()) as {
      stream_url: string;
      ticket: string;
    };
    expectContract('job-stream-ticket', ticket);
    const open = () => fetch(`${ticket.stream_url}?ticket=${ticket.ticket}`);
    expect(await (await open()).text()).toContain('event: end');
    const again = await open();
    expect(again.status).toBe(401);
    expectContract('problem', await again.json());
    expect(await (await call('GET', `/api/v1/jobs/${made.job.id}/diagnostics`)).json()).toEqual({
      stderr: '',
      targets: [],
    });
  });

  test('is on the loopback address, with a token of 32 random bytes', async () => {
    expect(run.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(run.token).toMatch(/^[0-9a-f]{64}$/);
    const link = createLink({ owner: ann.subject, skills: 'on' }, async () => scripted.sandbox);
    await expect(serveLink(link, ann.subject, { token: 'short' })).rejects.toMatchObject({
      code: 'option_invalid',
    });
  });

  test.each([
    ['no token', { authorization: '' }, 401, 'token.missing'],
    ['another scheme', { authorization: 'Basic eDp5' }, 401, 'token.missing'],
    ['a wrong token', { authorization: `Bearer ${'0'.repeat(64)}` }, 401, 'token.invalid'],
    ['another person', { 'x-ov-subject': bob.subject }, 403, 'capability.denied'],
    ['two persons', { 'x-ov-subject': `${ann.subject}, ${bob.subject}` }, 403, 'capability.denied'],
    ['no project', { 'x-ov-project': '' }, 403, 'run.project_required'],
    ['an odd project', { 'x-ov-project': 'prj_1' }, 403, 'run.project_required'],
  ])('C104: refuses %s', async (_name, change, status, problem) => {
    const before = scripted.runs.length;
    const response = await call('POST', '/api/v1/jobs', jobRequest(), change as Record<string, string>);
    const body: unknown = await response.json();
    expect([response.status, body]).toEqual([status, expect.objectContaining({ code: problem })]);
    expectContract('problem', body);
    expect(scripted.runs).toHaveLength(before);
    expect((await call('GET', '/api/v1/jobs', undefined, change as Record<string, string>)).status).toBe(
      status,
    );
  });

  test.each([
    ['a rebound name', { host: 'evil.example' }],
    ['a rebound name with the port', { host: 'evil.example:80' }],
    ['a name that resolves to loopback', { host: 'loopback.example' }],
    ['localhost without the port', { host: 'localhost' }],
    ['localhost with another port', { host: 'localhost:1' }],
    ['a page of another site', { origin: 'https://evil.example' }],
    ['a page without an origin', { origin: 'null' }],
  ])('refuses %s, token or not', async (_name, change) => {
    const { status, body } = await raw('GET', '/api/v1/jobs', change as Record<string, string>);
    expect(status).toBe(403);
    expectContract('problem', body);
  });

  test('answers under the name localhost too', async () => {
    const host = run.url.replace('http://127.0.0.1', 'localhost');
    expect(await raw('GET', '/api/v1/jobs', { host })).toMatchObject({ status: 200 });
    expect(await raw('GET', '/api/v1/jobs', { host, origin: `http://${host}` })).toMatchObject({
      status: 403,
    });
    expect(await raw('GET', '/api/v1/jobs', { host, authorization: '' })).toMatchObject({ status: 401 });
  });

  test('takes no prototype in the arguments of a job, at any depth', async () => {
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      const body = JSON.stringify(jobRequest()).replace('"title":"Hi"', `"title":{"${key}":1}`);
      expect((await call('POST', '/api/v1/jobs', body)).status).toBe(400);
    }
  });

  test('a target that names another host stays here', async () => {
    for (const path of ['http://evil.example/api/v1/jobs', '//evil.example/api/v1/jobs']) {
      expect(await raw('GET', path, {})).toMatchObject({ status: 404, body: { code: 'run.not_found' } });
    }
    const options = await raw('OPTIONS', '/api/v1/jobs', {});
    expect(options.status).toBe(405);
  });

  test('a body above the bound is answered 413, and the connection goes on', async () => {
    const response = await call('POST', '/api/v1/jobs', 'x'.repeat(3_000_000));
    expect(response.status).toBe(413);
    expectContract('problem', await response.json());
    const unread = await call('POST', '/api/v1/jobs', 'x'.repeat(3_000_000), { authorization: '' });
    expect(unread.status).toBe(401);
    await unread.body?.cancel();
    expect((await call('GET', '/api/v1/jobs')).status).toBe(200);
  });

  test('C96: twenty submits at once under one key are one job and one run', async () => {
    const before = scripted.runs.length;
    const body = jobRequest();
    const answers = await Promise.all(Array.from({ length: 20 }, () => call('POST', '/api/v1/jobs', body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(19).fill(200), 201]);
    const jobs = (await Promise.all(answers.map((answer) => answer.json()))) as { job: Job }[];
    expect(new Set(jobs.map(({ job }) => job.id)).size).toBe(1);
    await (await call('GET', `/api/v1/jobs/${jobs[0]?.job.id}/stream`)).text();
    expect(scripted.runs).toHaveLength(before + 1);
  });

  test('a cancel twice is 200 twice, and the tool is killed', async () => {
    script = untilKilled;
    const { id } = await submit();
    const first = await call('POST', `/api/v1/jobs/${id}/cancel`);
    const second = await call('POST', `/api/v1/jobs/${id}/cancel`);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(await (await call('GET', `/api/v1/jobs/${id}/stream`)).text()).toContain('"cancelled"');
  });

  test('close ends open streams and what runs', async () => {
    script = untilKilled;
    const { id } = await submit();
    const stream = await call('GET', `/api/v1/jobs/${id}/stream`);
    const rest = stream.text().catch(() => 'cut');
    await run.close();
    expect(await rest).toBe('cut');
    expect((await run.link.get(id, { person: ann })).state).toBe('cancelled');
    await expect(fetch(run.url)).rejects.toThrow();
    await run.close();
  });
});

describe('the bridge to node:http', () => {
  test('a client that goes away mid-stream cancels the body and fires the signal', async () => {
    let signal: AbortSignal | undefined;
    const { promise: cancelled, open: cancelBody } = gate<void>();
    const server = await listenOnLoopback(async (request) => {
      signal = request.signal;
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array([1])),
        cancel: () => cancelBody(undefined),
      });
      return new Response(body);
    });
    const stop = new AbortController();
    const response = await fetch(server.url, { signal: stop.signal });
    await response.body?.getReader().read();
    const fired = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
    stop.abort();
    await Promise.all([cancelled, fired]);
    await server.close();
  });

  test('a slow reader holds the writer back', async () => {
    let made = 0;
    const server = await listenOnLoopback(async () => {
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          made += 65_536;
          if (made > 256 * 1_048_576) controller.close();
          else controller.enqueue(new Uint8Array(65_536));
        },
      });
      return new Response(body);
    });
    const { port } = new URL(server.url);
    const socket = connect({ host: '127.0.0.1', port: Number(port) });
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'readable');
    let last = -1;
    // Until the writer stands still over many turns: it waits for a reader that never reads on.
    for (let still = 0; still < 50; ) {
      still = made === last ? still + 1 : 0;
      last = made;
      await new Promise(setImmediate);
    }
    expect(made).toBeLessThan(64 * 1_048_576);
    socket.destroy();
    await server.close();
  });

  test('a handler that rejects cuts the connection', async () => {
    const server = await listenOnLoopback(() => Promise.reject(new Error('secret')));
    await expect(fetch(server.url)).rejects.toThrow('fetch failed');
    await server.close();
  });

  test('the body and the headers arrive as they were sent', async () => {
    const server = await listenOnLoopback(async (request) =>
      Response.json({ text: await request.text(), of: request.headers.get('x-of'), url: request.url }),
    );
    const text = 'äöü'.repeat(100_000);
    const response = await fetch(`${server.url}/a?b=c`, {
      method: 'POST',
      body: text,
      headers: { 'x-of': 'me' },
    });
    expect(await response.json()).toEqual({ text, of: 'me', url: `${server.url}/a?b=c` });
    await server.close();
  });
});
