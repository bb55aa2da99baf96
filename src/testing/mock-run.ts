import type { HttpHandler } from 'msw';
import type { Clock } from '../clock.ts';
import { isoTime, systemClock } from '../clock.ts';
import { isId } from '../ids.ts';
import type { JobSpec } from '../link/job-spec.ts';
import type { JobEngine } from '../link/jobs.ts';
import { createJobEngine } from '../link/jobs.ts';
import type { Listening } from '../link/node-http.ts';
import { refusal } from '../link/refusal.ts';
import { createRunApi } from '../link/run-api.ts';
import type { Person } from '../run/service.ts';
import type { Job } from '../run/wire.ts';
import type { MockFault, MockRoute } from './mock-faults.ts';
import { answerFaulty, createMockFaults } from './mock-faults.ts';
import type { MockNode } from './mock-nodes.ts';
import { nodeTakes, offerOf } from './mock-nodes.ts';
import type { MockEnd } from './mock-script.ts';
import { playScript } from './mock-script.ts';
import { requireScript } from './require-script.ts';

/** {@link createMockRun}'s options. */
export interface MockRunOptions {
  /** The one person it serves; default: everyone with a token and well-formed ids. */
  person?: Person;
  /** The network's nodes. Default: one of the pool, which runs skills. */
  nodes?: readonly MockNode[];
  clock?: Clock;
  /**
   * Ends the jobs that no `next` was said for. Default: the result `{}`. Where it throws, or answers what
   * `next` would refuse, the job fails with `run.job.worker_failed`, and its detail says why.
   */
  otherwise?: (spec: JobSpec, job: Job) => MockEnd;
  /** Default `https://openvibe.run`; the origin that `handlers` answer for. */
  baseUrl?: string;
  /** Default `https://openvibe.network`. */
  networkUrl?: string;
}

/** A request as the mock saw it. */
export interface MockRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed where it is JSON, else its text; `undefined` where there was none. */
  readonly body: unknown;
}

/**
 * A Run with its network, in memory: the API and the job engine of a local Run, over jobs that end as they
 * are told to and a connection that breaks on order. It runs no code.
 */
export interface MockRun extends AsyncDisposable {
  readonly baseUrl: string;
  readonly networkUrl: string;
  /**
   * How the next job that is created ends; said several times, the jobs after it. Throws `option_invalid` for
   * a script that is no job of Run's, such as one with a code of another shape or a result that is no JSON.
   */
  next(end: MockEnd): void;
  fault(fault: MockFault): void;
  setNodes(nodes: readonly MockNode[]): void;
  /** Every request that was sent, also the lost ones. */
  readonly requests: readonly MockRequest[];
  /** Submits that reached Run. */
  readonly submits: number;
  /** Jobs that were made. */
  readonly jobs: number;
  readonly fetch: typeof globalThis.fetch;
  /** Handlers for `msw`, which has to be installed. */
  handlers(): Promise<HttpHandler[]>;
  /** Serves the same on a free port of 127.0.0.1 (Node only). */
  listen(): Promise<Listening>;
  /** Stops the servers of `listen` and cancels what runs. */
  close(): Promise<void>;
}

const defaultNodes: readonly MockNode[] = [{ node: 'node-pool-1', trust: 'first-party' }];

/** Makes a {@link MockRun}. */
export function createMockRun(options: MockRunOptions = {}): MockRun {
  const { clock = systemClock, baseUrl = 'https://openvibe.run' } = options;
  const { networkUrl = 'https://openvibe.network', otherwise = () => ({ result: {} }) } = options;
  let nodes = options.nodes ?? defaultNodes;
  const coming: MockEnd[] = [];
  const scripts = new Map<string, MockEnd>();
  const requests: MockRequest[] = [];
  const faults = createMockFaults();
  const servers: Listening[] = [];
  let submits = 0;

  // Thrown here it would be a 500 that tells nobody why.
  const unscripted = (spec: JobSpec, job: Job): MockEnd => {
    try {
      return requireScript(otherwise(spec, job));
    } catch (error) {
      const detail = `otherwise: ${error}`.slice(0, 1024).toWellFormed();
      return { fail: 'run.job.worker_failed', started: false, detail };
    }
  };
  // The engine asks for a place within the submit, so the first job created takes the first script.
  const scriptOf = (job: Job, spec: JobSpec): MockEnd => {
    const script = scripts.get(job.id) ?? coming.shift() ?? unscripted(spec, job);
    scripts.set(job.id, script);
    return script;
  };
  const engine = createJobEngine({
    clock,
    maxJobs: 1000,
    maxQueued: 1000,
    place(job, spec) {
      const script = scriptOf(job, spec);
      if ('unplaceable' in script) return undefined;
      const node = script.node ?? nodes.find((candidate) => nodeTakes(candidate, spec))?.node;
      return node === undefined ? undefined : { node, provider: 'mock', region: 'eu-test' };
    },
    execute: (job, spec, control) => playScript(scriptOf(job, spec), control, clock),
  });
  const api = createRunApi(lying(engine, scripts), {
    clock,
    authenticate: (request) => authenticate(request, options.person),
  });

  const run = async (request: Request, route: MockRoute | undefined): Promise<Response> => {
    if (route === 'submit') submits += 1;
    if (route !== 'offers') return api(request);
    return Response.json({ offers: nodes.map((node) => offerOf(node, isoTime(clock.now()))) });
  };
  const handle = async (request: Request): Promise<Response> => {
    const route = routeOf(request);
    requests.push(await recordOf(request));
    const fault = route && faults.take(route);
    if (fault === undefined) return run(request, route);
    return answerFaulty(fault, request, clock, () => run(request, route));
  };
  const close = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
    // Not awaited: a job that hangs for ever has no end to wait for.
    void engine.close();
  };

  return {
    baseUrl,
    networkUrl,
    next: (end) => void coming.push(requireScript(end)),
    fault: faults.add,
    setNodes(changed) {
      nodes = changed;
    },
    requests,
    get submits() {
      return submits;
    },
    get jobs() {
      return scripts.size;
    },
    fetch: (input, init) => fetchOver(handle, new Request(input, init)),
    async handlers() {
      const { http, HttpResponse } = await import('msw');
      const answer = ({ request }: { request: Request }): Promise<Response> =>
        handle(request).catch(() => HttpResponse.error());
      return [http.all(`${baseUrl}/*`, answer), http.all(`${networkUrl}/*`, answer)];
    },
    async listen() {
      const { listenOnLoopback } = await import('../link/node-http.ts');
      const server = await listenOnLoopback(handle);
      servers.push(server);
      return server;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

// As a client's own fetch does: the caller's abort ends the wait, whatever the server does.
async function fetchOver(
  handle: (request: Request) => Promise<Response>,
  request: Request,
): Promise<Response> {
  const { signal } = request;
  signal.throwIfAborted();
  let stop = (): void => undefined;
  const abort = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([handle(request), abort]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function lying(engine: JobEngine, scripts: ReadonlyMap<string, MockEnd>): JobEngine {
  const told = (job: Job): Job => ({ ...job, ...scripts.get(job.id)?.lie });
  return {
    ...engine,
    async submit(spec, person) {
      const { created, job } = await engine.submit(spec, person);
      return { created, job: told(job) };
    },
    get: (jobId, person) => told(engine.get(jobId, person)),
    list(query, person) {
      const page = engine.list(query, person);
      return { ...page, jobs: page.jobs.map(told) };
    },
    cancel: (jobId, person) => told(engine.cancel(jobId, person)),
  };
}

function authenticate(request: Request, only: Person | undefined): Person {
  const token = /^Bearer \S+$/.test(request.headers.get('authorization') ?? '');
  if (!token) throw refusal(401, 'token.missing', 'Authorization: send a Bearer token.');
  const subject = request.headers.get('x-ov-subject');
  const project = request.headers.get('x-ov-project');
  if (!isId('prj', project)) throw refusal(403, 'run.project_required', 'X-OV-Project: send a prj_ id.');
  const served = only === undefined || (only.subject === subject && only.project === project);
  if (!isId('usr', subject) || !served) {
    throw refusal(403, 'capability.denied', 'X-OV-Subject: not a person that this Run serves.');
  }
  return { subject, project };
}

function routeOf(request: Request): MockRoute | undefined {
  const { pathname } = new URL(request.url);
  if (pathname === '/api/v1/offers') return 'offers';
  if (pathname === '/api/v1/jobs') return request.method === 'POST' ? 'submit' : 'list';
  const tail = /^\/api\/v1\/jobs\/[^/]+(\/.*)?$/.exec(pathname);
  if (tail === null) return undefined;
  const routes: Record<string, MockRoute> = {
    '': 'get',
    '/cancel': 'cancel',
    '/stream': 'stream',
    '/stream/ticket': 'ticket',
    '/diagnostics': 'diagnostics',
  };
  return routes[tail[1] ?? ''];
}

async function recordOf(request: Request): Promise<MockRequest> {
  const { pathname, search } = new URL(request.url);
  const text = await request.clone().text();
  return {
    method: request.method,
    path: `${pathname}${search}`,
    headers: Object.fromEntries(request.headers),
    body: text === '' ? undefined : parse(text),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
