import type { Clock } from '../clock.ts';
import { systemClock } from '../clock.ts';
import { isId } from '../ids.ts';
import type { Person } from '../run/service.ts';
import type { JobState } from '../run/wire.ts';
import { eventStream } from './event-stream.ts';
import { checkJobRequest } from './job-request.ts';
import type { JobEngine, JobQuery } from './jobs.ts';
import { readJsonBody } from './read-body.ts';
import { asProblem, jobNotFound, problemResponse, refusal } from './refusal.ts';
import type { Tickets } from './tickets.ts';
import { createTickets } from './tickets.ts';
import { readTrace } from './trace.ts';

/** {@link createRunApi}'s options. */
export interface RunApiOptions {
  /** Who asks. Throws a refusal (401 `token.*`, 403) for everyone else. */
  authenticate(request: Request): Person | Promise<Person>;
  clock?: Clock;
  /** Streams open at once; more are answered 503 `run.stream.busy`. Default 64. */
  maxStreams?: number;
}

/** What the API needs of an engine. */
export type RunApiEngine = Omit<JobEngine, 'close'>;

interface Call {
  readonly request: Request;
  readonly url: URL;
  readonly jobId: string;
  readonly person: Person;
}
type Answer = (call: Call) => Response | Promise<Response>;

/**
 * Run's HTTP API (`/api/v1/jobs…`) over an engine, as one web-standard handler. It never rejects: whatever is
 * wrong is answered as RFC 9457 `application/problem+json`, and nothing of the request is repeated in it.
 * `GET /api/v1/jobs/:id/diagnostics` is ours: Run has published no such call.
 */
export function createRunApi(
  engine: RunApiEngine,
  options: RunApiOptions,
): (request: Request) => Promise<Response> {
  const clock = options.clock ?? systemClock;
  const tickets = createTickets(clock);
  const routes = createRoutes(engine, tickets, clock, options.maxStreams ?? 64);

  const answer = async (request: Request): Promise<Response> => {
    const url = new URL(request.url);
    const route = readPath(url.pathname);
    const methods = route && routes[route.name];
    if (methods === undefined) throw refusal(404, 'run.not_found', 'There is no such address here.');
    const handle = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
    if (handle === undefined) throw refusal(405, 'run.method_not_allowed', 'This address has other methods.');
    const ticket = route?.name === 'stream' ? url.searchParams.get('ticket') : null;
    const person =
      ticket === null ? await options.authenticate(request) : tickets.redeem(ticket, route?.jobId ?? '');
    if (person === undefined) {
      throw refusal(
        401,
        'token.invalid',
        'This ticket is spent, too old or for another job. Ask for a new one.',
      );
    }
    return handle({ request, url, person, jobId: route?.jobId ?? '' });
  };

  return async (request) => {
    const trace = readTrace(request.headers);
    let response: Response;
    try {
      response = await answer(request);
    } catch (error) {
      const { requestId: request_id, traceId } = trace;
      response = problemResponse({ ...asProblem(error), request_id, ...(traceId && { trace_id: traceId }) });
    }
    for (const [name, value] of Object.entries(trace.headers)) response.headers.set(name, value);
    response.headers.set('cache-control', 'no-store');
    response.headers.set('x-content-type-options', 'nosniff');
    return response;
  };
}

type RouteName = 'jobs' | 'job' | 'cancel' | 'ticket' | 'stream' | 'diagnostics';

function readPath(path: string): { name: RouteName; jobId: string } | undefined {
  if (path === '/api/v1/jobs') return { name: 'jobs', jobId: '' };
  const match = /^\/api\/v1\/jobs\/([^/]+)(?:\/(cancel|stream|stream\/ticket|diagnostics))?$/.exec(path);
  if (match?.[1] === undefined) return undefined;
  if (!isId('job', match[1])) throw jobNotFound();
  const tail = match[2] ?? 'job';
  return { name: tail === 'stream/ticket' ? 'ticket' : (tail as RouteName), jobId: match[1] };
}

function createRoutes(
  engine: RunApiEngine,
  tickets: Tickets,
  clock: Clock,
  maxStreams: number,
): Record<RouteName, Record<string, Answer>> {
  let streams = 0;
  return {
    jobs: {
      async POST({ request, person }) {
        const key = request.headers.get('idempotency-key') ?? undefined;
        const spec = checkJobRequest(await readJsonBody(request), person.project, key);
        const submitted = await engine.submit(spec, person);
        return Response.json(submitted, { status: submitted.created ? 201 : 200 });
      },
      GET: ({ url, person }) => Response.json(engine.list(readQuery(url.searchParams), person)),
    },
    job: { GET: ({ jobId, person }) => Response.json(engine.get(jobId, person)) },
    cancel: { POST: ({ jobId, person }) => Response.json(engine.cancel(jobId, person)) },
    ticket: {
      POST({ jobId, person, url }) {
        engine.get(jobId, person);
        return Response.json(tickets.issue(jobId, person, `${url.origin}/api/v1/jobs/${jobId}/stream`));
      },
    },
    stream: {
      GET({ request, jobId, person }) {
        const after = readLastEventId(request.headers.get('last-event-id'));
        engine.get(jobId, person);
        if (streams >= maxStreams) {
          throw refusal(503, 'run.stream.busy', 'Too many streams are open here. Ask for the job instead.');
        }
        streams += 1;
        const body = eventStream((signal) => engine.events(jobId, person, { after, signal }), {
          clock,
          signal: request.signal,
          onClose() {
            streams -= 1;
          },
        });
        return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
      },
    },
    diagnostics: {
      GET({ jobId, person }) {
        const found = engine.diagnostics(jobId, person);
        if (found === undefined) {
          throw refusal(404, 'run.diagnostics_not_found', 'Nothing beyond the result is kept for this job.');
        }
        return Response.json(found);
      },
    },
  };
}

const states = ['queued', 'placed', 'running', 'succeeded', 'failed', 'cancelled', 'expired'] as const;

function readQuery(query: URLSearchParams): JobQuery {
  const state = query.get('state');
  const limit = query.get('limit');
  const cursor = query.get('cursor');
  const bad = (name: string, rule: string): Error =>
    refusal(400, 'run.invalid_request', `${name}: ${rule}.`, [{ path: name, message: rule }]);
  if (state !== null && !states.some((known) => known === state)) throw bad('state', 'not a state of a job');
  if (limit !== null && !/^([1-9]|[1-9]\d|1\d\d|200)$/.test(limit)) throw bad('limit', '1 to 200');
  if (cursor !== null && !/^\d{1,15}$/.test(cursor)) throw bad('cursor', 'not a next_cursor of this Run');
  return {
    ...(state !== null && { state: state as JobState }),
    ...(limit !== null && { limit: Number(limit) }),
    ...(cursor !== null && { cursor }),
  };
}

function readLastEventId(value: string | null): number {
  if (value === null || value === '') return 0;
  if (!/^\d{1,15}$/.test(value)) throw refusal(400, 'run.invalid_request', 'Last-Event-ID: not a number.');
  return Number(value);
}
