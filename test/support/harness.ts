import type { Grants } from '../../src/gateway/approvals.ts';
import type { GatewayEvents } from '../../src/gateway/events.ts';
import { createSkillGateway, type SkillGateway } from '../../src/gateway/gateway.ts';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import { type SkillSet, verifySkills } from '../../src/menu/skill-set.ts';
import { createNodeDirectory } from '../../src/run/nodes.ts';
import { createRunService } from '../../src/run/run-service.ts';
import type { RunService } from '../../src/run/service.ts';
import type { JobRequest } from '../../src/run/wire.ts';
import { createManualClock, type ManualClock } from '../../src/testing/manual-clock.ts';
import { createMockRun, type MockRun, type MockRunOptions } from '../../src/testing/mock-run.ts';
import { expectContract } from './contracts.ts';
import { seedSkills } from './skills.ts';

export const ann = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
export const ben = { subject: 'usr_01JBBBBBBBBBBBBBBBBBBBBBBB', project: 'prj_01JBBBBBBBBBBBBBBBBBBBBBBB' };
export const agentId = 'agt_01JAB2C3D4E5F6G7H8J9K0MNPQ';
export const token = 'secret-token-of-the-host';

let seeds: Promise<SkillSet> | undefined;
/** The contract's two sandbox skills, verified once. */
export function seedSet(): Promise<SkillSet> {
  seeds ??= seedSkills().then((skills) => verifySkills(skills));
  return seeds;
}

/** The names of a gateway's events. */
export const eventNames = [
  'step-pending',
  'step-decided',
  'step-submitted',
  'step-finished',
  'call-finished',
  'grant-created',
  'grant-failed',
  'grant-revoked',
  'fault',
  'listener-error',
] as const;

/** The menu name of a tool. */
export function nameOf(skills: SkillSet, tool: string): string {
  const found = skills.menu.tools.find(({ name }) => skills.find(name)?.tool.name === tool);
  if (found === undefined) throw new Error(`No tool ${tool} in the menu.`);
  return found.name;
}

export interface Harness {
  readonly gateway: SkillGateway;
  readonly grants: Grants;
  readonly mock: MockRun;
  readonly run: RunService;
  readonly clock: ManualClock;
  readonly skills: SkillSet;
  readonly slugify: string;
  readonly fetchTitle: string;
  /** Names of the gateway's events, in order. */
  readonly told: (keyof GatewayEvents)[];
  /** Another gateway over the same mock, clock and skills. */
  other(change?: Partial<GatewayOptions>): SkillGateway;
}

export interface HarnessOptions {
  gateway?: Partial<GatewayOptions>;
  mock?: MockRunOptions;
  /** Node ids that the platform confirmed as the person's. */
  ownNodes?: readonly string[];
}

/** An approver that says yes, once each time. */
export const approve = async () => ({ decision: 'approve' }) as const;

/** A gateway for Ann over a mock Run, on a clock that stands still. */
export async function harness(options: HarnessOptions = {}): Promise<Harness> {
  const clock = createManualClock();
  const mock = createMockRun({ clock, ...options.mock });
  const skills = options.gateway?.skills ?? (await seedSet());
  const run = runOver(mock, clock, options.ownNodes);
  const make = (change: Partial<GatewayOptions> = {}): SkillGateway =>
    createSkillGateway({ person: ann, skills, run, clock, ...options.gateway, ...change });
  const gateway = make();
  const told: (keyof GatewayEvents)[] = [];
  for (const name of eventNames) gateway.on(name, () => void told.push(name));
  const tool = (name: string): string => {
    try {
      return nameOf(skills, name);
    } catch {
      return '';
    }
  };
  const menu = { slugify: tool('slugify'), fetchTitle: tool('fetch_title') };
  return { gateway, grants: gateway.grants, mock, run, clock, skills, told, other: make, ...menu };
}

/** A Run service over a mock. */
export function runOver(mock: MockRun, clock: ManualClock, ownNodes: readonly string[] = []): RunService {
  return createRunService({
    token: () => token,
    fetch: checked(mock.fetch),
    clock,
    nodes: createNodeDirectory({ fetch: mock.fetch, ownNodes: () => ownNodes, clock }),
  });
}

// Every submit that a test sends is one that the platform's own contract takes.
function checked(fetch: MockRun['fetch']): MockRun['fetch'] {
  return async (input, init) => {
    const request = new Request(input, init);
    if (request.method === 'POST' && request.url.endsWith('/api/v1/jobs')) {
      expectContract('job-create-request', await request.clone().json());
    }
    return fetch(request);
  };
}

/** Gives way until the condition holds; fails when it does not within 10 s, however busy the machine is. */
export async function until(condition: () => unknown): Promise<void> {
  for (const begun = performance.now(); performance.now() - begun < 10_000; ) {
    if (await condition()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('The condition never held.');
}

/** The bodies of the submits that the mock saw, also of the lost ones. */
export function submitBodies(h: Pick<Harness, 'mock'>): JobRequest[] {
  return h.mock.requests
    .filter(({ method, path }) => method === 'POST' && path === '/api/v1/jobs')
    .map(({ body }) => body as JobRequest);
}

/** Lets the clock go on until the promise has settled: at most 20 minutes. */
export async function passing<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let over = false;
  const end = (): void => {
    over = true;
  };
  promise.then(end, end);
  for (let n = 0; n < 4800 && !over; n += 1) await clock.advance(250);
  return promise;
}
