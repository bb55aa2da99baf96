import type { Clock } from '../../src/clock.ts';
import type { JobSpec } from '../../src/link/job-spec.ts';
import type { Person } from '../../src/run/service.ts';
import type { Job } from '../../src/run/wire.ts';
import type { MockFault, MockRoute } from '../../src/testing/mock-faults.ts';
import type { MockNode } from '../../src/testing/mock-nodes.ts';
import { createMockRun, type MockRun } from '../../src/testing/mock-run.ts';
import type { MockEnd } from '../../src/testing/mock-script.ts';
import { token } from './calls.ts';
import type { NetFault, OwnState } from './schedule.ts';

/** A job that the mock Run made, and what became of it. */
export interface MadeJob {
  readonly spec: JobSpec;
  readonly end: MockEnd;
  readonly job: Job;
}

/** Run, its nodes and the way to them. */
export interface Network {
  /** One request of a process. */
  send(request: Request): Promise<Response>;
  setOwn(state: OwnState): void;
  /** A job of a stranger's: Run looks again for a place for each that waits. */
  stranger(): Promise<void>;
  /** From here on nothing goes wrong. */
  heal(): void;
  /** The person's jobs as Run tells of them now. */
  jobs(): Promise<readonly MadeJob[]>;
}

/** What a network is made of. */
export interface NetworkPlan {
  readonly own: boolean;
  readonly pool: boolean;
  readonly ends: readonly MockEnd[];
  readonly faults: readonly NetFault[];
}

// Longer than a client waits for one answer.
const lateMs = 15_000;
/** The person's own machine. */
export const ownNode = 'node-own-1';
const stranger: Person = {
  subject: 'usr_01JZZZZZZZZZZZZZZZZZZZZZZZ',
  project: 'prj_01JZZZZZZZZZZZZZZZZZZZZZZZ',
};

/** @param make makes the Run; a test gives one that has a fault of its own */
export function createNetwork(
  clock: Clock,
  person: Person,
  plan: NetworkPlan,
  make: typeof createMockRun = createMockRun,
): Network {
  const made: { spec: JobSpec; end: MockEnd; id: string }[] = [];
  let faults = plan.faults;
  let own: OwnState = 'up';
  let submits = 0;
  let body: unknown;
  let requests = 0;
  const nodesWith = (isUp: boolean): MockNode[] => [
    ...(plan.own ? [{ node: ownNode, trust: 'user-owned', health: isUp ? 'up' : 'down' } as const] : []),
    ...(plan.pool ? [{ node: 'node-pool-1', trust: 'first-party' } as const] : []),
  ];
  const mock: MockRun = make({
    clock,
    nodes: nodesWith(true),
    otherwise(spec, job) {
      if (job.project_id !== person.project) return { result: null };
      const end = plan.ends[Math.min(made.length, plan.ends.length - 1)] ?? { result: {} };
      made.push({ spec, end, id: job.id });
      return end;
    },
  });
  const setOwn = (state: OwnState): void => {
    own = state;
    mock.setNodes(nodesWith(state === 'up'));
  };
  // It comes to Run when nobody waits for it any more, or lives.
  const late = async (request: Request): Promise<Response> => {
    const { url, method, headers } = request;
    const text = await request.text();
    await clock.sleep(lateMs);
    return mock.fetch(url, { method, headers, ...(text !== '' && { body: text }) });
  };
  const ask = (path: string, who: Person, init: RequestInit = {}): Promise<Response> =>
    mock.fetch(`${mock.baseUrl}/api/v1/jobs${path}`, {
      ...init,
      headers: {
        authorization: `Bearer ${token}`,
        'x-ov-subject': who.subject,
        'x-ov-project': who.project,
        'content-type': 'application/json',
      },
    });

  return {
    async send(request) {
      requests += 1;
      const on = routeOf(request);
      if (on === 'submit') {
        submits += 1;
        body = await request.clone().json();
      }
      const [nth, nthSubmit] = [requests, on === 'submit' ? submits : 0];
      const fault = faults.find((one) => one.nth === (one.submit ? nthSubmit : nth));
      if (fault?.kind === 'twice') await mock.fetch(request.clone()).then((first) => first.text());
      else if (fault?.kind === 'late') return late(request);
      else if (fault !== undefined) mock.fault(faultOf(fault.kind, on));
      if (on !== 'offers') return mock.fetch(request);
      // The list says nothing of how busy a machine is.
      mock.setNodes(nodesWith(own !== 'down'));
      const listed = await mock.fetch(request);
      mock.setNodes(nodesWith(own === 'up'));
      return listed;
    },
    setOwn,
    async stranger() {
      if (body === undefined) return;
      const key = `stranger:${requests}`;
      const theirs = { ...(body as object), idempotency_key: key, requirements: undefined };
      const { status } = await ask('', stranger, { method: 'POST', body: JSON.stringify(theirs) });
      if (status !== 201 && status !== 200) throw new Error(`A stranger's job was refused: ${status}.`);
    },
    heal() {
      faults = [];
      setOwn('up');
    },
    async jobs() {
      const all: MadeJob[] = [];
      for (const { spec, end, id } of made) {
        const job = (await (await ask(`/${id}`, person)).json()) as Job;
        all.push({ spec, end, job });
      }
      return all;
    },
  };
}

function faultOf(kind: Exclude<NetFault['kind'], 'twice' | 'late'>, on: MockRoute): MockFault {
  if (kind === 'cut') return { on, kind, after: 1 };
  if (typeof kind === 'string') return { on, kind };
  if (kind === 402) return { on, kind: 'problem', status: kind, code: 'billing.balance_exhausted' };
  if (kind === 404) return { on, kind: 'problem', status: kind, code: 'run.job_not_found' };
  if (kind === 409) return { on, kind: 'problem', status: kind, code: 'run.idempotency.conflict' };
  return { on, kind: 'status', status: kind };
}

export function routeOf({ url, method }: Request): MockRoute {
  const { pathname } = new URL(url);
  if (pathname.endsWith('/offers')) return 'offers';
  if (pathname.endsWith('/jobs')) return method === 'POST' ? 'submit' : 'list';
  if (pathname.endsWith('/cancel')) return 'cancel';
  if (pathname.endsWith('/ticket')) return 'ticket';
  return pathname.endsWith('/stream') ? 'stream' : 'get';
}
