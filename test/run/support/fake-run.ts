import type { Job } from '../../../src/run/wire.ts';
import { expectContract } from '../../support/contracts.ts';

/** One request as it arrived. */
export interface Seen {
  readonly method: string;
  readonly url: URL;
  /** `METHOD /path` without the query. */
  readonly line: string;
  readonly headers: Headers;
  readonly body: unknown;
  readonly signal: AbortSignal;
}

/** What a request is answered with; an `Error` breaks the connection. */
export type Answer = Response | Error | Promise<Response | Error>;
export type Script = (seen: Seen, nth: number) => Answer;

/** A `fetch` in this process that checks every request and answers as its script says. */
export interface FakeRun {
  readonly fetch: typeof fetch;
  readonly seen: Seen[];
  count(line: string): number;
}

const requestId = /^[A-Za-z0-9._-]{8,128}$/;
const traceparent = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

export function fakeRun(script: Script): FakeRun {
  const seen: Seen[] = [];
  return {
    seen,
    count: (line) => seen.filter((one) => one.line === line).length,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const text = await request.text();
      const url = new URL(request.url);
      const one: Seen = {
        method: request.method,
        url,
        line: `${request.method} ${url.pathname}`,
        headers: request.headers,
        body: text === '' ? undefined : JSON.parse(text),
        signal: request.signal,
      };
      seen.push(one);
      try {
        check(one, request.redirect);
      } catch (fault) {
        // Unhandled, so that the suite fails: thrown here it would look like a broken network.
        void Promise.reject(fault);
      }
      const answer = await script(one, seen.length);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

function check({ line, headers, body }: Seen, redirect: string): void {
  if (redirect !== 'error') throw new Error('A request follows redirects.');
  if (!requestId.test(headers.get('x-openvibe-request-id') ?? '')) throw new Error('No request id.');
  if (headers.get('cache-control') !== 'no-store') throw new Error('The answer may be stored.');
  if (line === 'GET /api/v1/offers') return;
  if (!traceparent.test(headers.get('traceparent') ?? '')) throw new Error('No traceparent.');
  if (line === 'POST /api/v1/jobs') {
    if (headers.get('content-type') !== 'application/json') throw new Error('No JSON body.');
    expectContract('job-create-request', body);
  } else if (body !== undefined) throw new Error(`${line} has a body.`);
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  });
}

/** A job as a Run that keeps its contract answers it. */
export function jobAnswer(job: Job): Response {
  expectContract('job', job);
  return json(job);
}

export function submitAnswer(job: Job, created = true): Response {
  expectContract('job-create-result', { created, job });
  return json({ created, job }, created ? 201 : 200);
}

export function problem(
  status: number,
  code: string,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Response {
  const body = { type: 'about:blank', title: 'Refused', status, code, ...more };
  expectContract('problem', body);
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
  });
}

/** An event stream that a test writes to. */
export interface FakeStream {
  readonly response: Response;
  write(text: string): void;
  event(seq: number, event: Record<string, unknown>): void;
  close(): void;
  break(): void;
  readonly closed: () => boolean;
}

export function fakeStream(jobId: string): FakeStream {
  const encoder = new TextEncoder();
  let cancelled = false;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      cancelled = true;
    },
  });
  const write = (text: string): void => controller?.enqueue(encoder.encode(text));
  return {
    response: new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
    write,
    event: (seq, part) => {
      const event = { job_id: jobId, seq, at: '2026-11-20T10:00:00Z', ...part };
      expectContract('job-stream-event', event);
      write(`id: ${seq}\nevent: ${String(part.type)}\ndata: ${JSON.stringify(event)}\n\n`);
    },
    close: () => controller?.close(),
    break: () => controller?.error(new TypeError('terminated')),
    closed: () => cancelled,
  };
}
