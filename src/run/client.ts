import { type Clock, systemClock } from '../clock.ts';
import { invalidOption } from '../errors.ts';
import { requireId } from '../ids.ts';
import { invalidAnswer, mediaType, readAnswer } from './body.ts';
import { readEvents, type StreamEvent } from './event-stream.ts';
import { createSend, type HttpCall, type HttpOptions } from './http.ts';
import { identityHeaders } from './identity.ts';
import { requireBaseUrl, requireWhole } from './options.ts';
import { RunProblem } from './problem.ts';
import type { RunContext } from './service.ts';
import type { TokenSource } from './token.ts';
import type { Diagnostics, Job, JobList, JobRequest, JobState, StreamTicket, SubmitAnswer } from './wire.ts';
import {
  diagnosticsSchema,
  jobListSchema,
  jobSchema,
  streamTicketSchema,
  submitAnswerSchema,
} from './wire-schemas.ts';

/** How a Run is reached. */
export interface RunClientOptions extends HttpOptions {
  /** https, or http on loopback. Default `https://openvibe.run`. */
  baseUrl?: string | undefined;
  token: TokenSource;
  clock?: Clock | undefined;
  /** Longest answer that is read, in bytes, 1024 to 67108864. Default 4194304. */
  maxResponseBytes?: number | undefined;
  /** The W3C `traceparent` of the work that a call belongs to. Default: a new one a call. */
  traceparent?: (() => string | undefined) | undefined;
}

/** Which jobs to list. */
export interface JobQuery {
  readonly state?: JobState;
  /** 1 to 200. Default 50. */
  readonly limit?: number;
  /** The `next_cursor` of the page before. */
  readonly cursor?: string;
}

/** How a stream is opened. */
export interface StreamQuery extends RunContext {
  /** The id of the last event that was seen. */
  readonly lastEventId?: string | undefined;
  /** Used instead of the token when its URL is this job's stream on the same origin. */
  readonly ticket?: StreamTicket | undefined;
}

/**
 * Run's HTTP API, every call for one person.
 *
 * Rejects with `option_invalid` (an id or the token is none; nothing was sent), `run_problem`
 * (a `RunProblem`), `job_not_found`, `run_unreachable` (a `RunUnreachable`), `run_answer_invalid`, `aborted`.
 * No error holds the token.
 */
export interface RunClient {
  /** Repeated under the request's idempotency key; a repeat of the same work answers the first job. */
  submit(request: JobRequest, context: RunContext): Promise<SubmitAnswer>;
  get(jobId: string, context: RunContext): Promise<Job>;
  list(query: JobQuery, context: RunContext): Promise<JobList>;
  /** A request, not a proof: the job may still be running, and may still succeed. */
  cancel(jobId: string, context: RunContext): Promise<Job>;
  streamTicket(jobId: string, context: RunContext): Promise<StreamTicket>;
  /** One connection, without retries; see `readEvents` for how it ends. */
  stream(jobId: string, query: StreamQuery): Promise<AsyncGenerator<StreamEvent, void, undefined>>;
  /** Ours: `GET /api/v1/jobs/:id/diagnostics`; `undefined` where this Run has none. */
  diagnostics(jobId: string, context: RunContext): Promise<Diagnostics | undefined>;
}

/** Throws `option_invalid` when an option is out of its range. */
export function createRunClient(options: RunClientOptions): RunClient {
  const base = requireBaseUrl('baseUrl', options.baseUrl ?? 'https://openvibe.run');
  const clock = options.clock ?? systemClock;
  const send = createSend(options, clock);
  const maxBytes = requireWhole('maxResponseBytes', options.maxResponseBytes ?? 4_194_304, 1024, 67_108_864);
  const { token, traceparent } = options;
  if (typeof token !== 'function') {
    throw invalidOption('token', 'not a function', 'Pass a function that answers a fresh token.');
  }

  // What every call has in common but its body, its accepted type and how it is read.
  const call = (
    what: string,
    method: 'GET' | 'POST',
    path: string,
    context: RunContext,
  ): Omit<HttpCall<never>, 'read' | 'token'> & { token: TokenSource } => ({
    what,
    method,
    url: `${base}/api/v1/jobs${path}`,
    accept: 'application/json, application/problem+json',
    headers: identityHeaders(context.person, traceparent),
    token,
    repeatable: method === 'GET',
    signal: context.signal,
  });

  const readJob = (what: string, jobId: string) => async (response: Response) => {
    const job = await readAnswer(what, response, jobSchema, maxBytes);
    if (job.id !== jobId) throw invalidAnswer(what, 'is about another job');
    return job;
  };

  return {
    async submit(request, context) {
      if (!/^[A-Za-z0-9._:-]{1,128}$/.test(request.idempotency_key)) {
        throw invalidOption('idempotency_key', 'not a key of 1 to 128 characters', 'Use idempotencyKey().');
      }
      const what = 'submitting a job';
      return send({
        ...call(what, 'POST', '', context),
        body: JSON.stringify(request),
        repeatable: true,
        read: (response) => readAnswer(what, response, submitAnswerSchema, maxBytes),
      });
    },

    async get(jobId, context) {
      const what = `reading ${requireId('job', jobId, 'jobId')}`;
      return send({ ...call(what, 'GET', `/${jobId}`, context), read: readJob(what, jobId) });
    },

    async list(query, context) {
      const what = 'listing jobs';
      const search = new URLSearchParams({ limit: `${requireWhole('limit', query.limit ?? 50, 1, 200)}` });
      if (query.state !== undefined) search.set('state', query.state);
      if (query.cursor !== undefined) search.set('cursor', query.cursor);
      return send({
        ...call(what, 'GET', `?${search}`, context),
        read: (response) => readAnswer(what, response, jobListSchema, maxBytes),
      });
    },

    async cancel(jobId, context) {
      const what = `cancelling ${requireId('job', jobId, 'jobId')}`;
      return send({
        ...call(what, 'POST', `/${jobId}/cancel`, context),
        repeatable: true,
        read: readJob(what, jobId),
      });
    },

    async streamTicket(jobId, context) {
      const what = `asking for a stream ticket of ${requireId('job', jobId, 'jobId')}`;
      return send({
        ...call(what, 'POST', `/${jobId}/stream/ticket`, context),
        read: async (response) => {
          const ticket = await readAnswer(what, response, streamTicketSchema, maxBytes);
          if (ticket.job_id !== jobId) throw invalidAnswer(what, 'is about another job');
          return ticket;
        },
      });
    },

    async stream(jobId, query) {
      const what = `opening the stream of ${requireId('job', jobId, 'jobId')}`;
      const { lastEventId, ticket } = query;
      if (lastEventId !== undefined && !/^\d{1,15}$/.test(lastEventId)) {
        throw invalidOption('lastEventId', 'not the number of an event', 'Pass the id of an event.');
      }
      const { token: bearer, ...plain } = call(what, 'GET', `/${jobId}/stream`, query);
      const ticketed = ticket === undefined ? undefined : ticketUrl(base, jobId, ticket);
      const body = await send({
        ...plain,
        ...(ticket === undefined || ticketed === undefined
          ? { token: bearer }
          : { url: ticketed, secrets: [ticket.ticket] }),
        accept: 'text/event-stream',
        headers: { ...plain.headers, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) },
        repeatable: false,
        read: async (response) => {
          if (mediaType(response) === 'text/event-stream' && response.body !== null) return response.body;
          response.body?.cancel().catch(() => {});
          throw invalidAnswer(what, 'is no event stream');
        },
      });
      return readEvents(body, { clock, jobId, signal: query.signal });
    },

    async diagnostics(jobId, context) {
      const what = `reading the diagnostics of ${requireId('job', jobId, 'jobId')}`;
      try {
        return await send({
          ...call(what, 'GET', `/${jobId}/diagnostics`, context),
          read: (response) => readAnswer(what, response, diagnosticsSchema, maxBytes),
        });
      } catch (error) {
        if (error instanceof RunProblem && error.status === 404) return undefined;
        throw error;
      }
    },
  };
}

// A Run names the stream's URL; nothing is sent to a place that the base URL is not.
function ticketUrl(base: string, jobId: string, ticket: StreamTicket): string | undefined {
  const url = URL.canParse(ticket.stream_url) ? new URL(ticket.stream_url) : undefined;
  if (url === undefined || url.origin !== new URL(base).origin || url.username !== '') return undefined;
  if (!url.pathname.endsWith(`/api/v1/jobs/${jobId}/stream`)) return undefined;
  return `${url.origin}${url.pathname}?${new URLSearchParams({ ticket: ticket.ticket })}`;
}
