import { describe, expect, test } from 'vitest';
import { SkillRunError } from '../../src/errors.ts';
import { modelText } from '../../src/gateway/model-text.ts';
import type { RunService } from '../../src/run/service.ts';
import type { Job } from '../../src/run/wire.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { createMockRun } from '../../src/testing/mock-run.ts';
import {
  approve,
  ben,
  type Harness,
  type HarnessOptions,
  harness,
  passing,
  runOver,
  submitBodies,
  until,
} from '../support/harness.ts';

const link = { node: 'link-1', trust: 'user-owned' } as const;
const pool = { node: 'node-pool-1', trust: 'first-party' } as const;

const own = (options: HarnessOptions = {}): Promise<Harness> =>
  harness({
    mock: { nodes: [link, pool] },
    ownNodes: [link.node],
    ...options,
    gateway: { approver: approve, ...options.gateway },
  });

const call = (h: Harness, gateway = h.gateway) =>
  passing(h.clock, gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } }));

const trusts = (h: Pick<Harness, 'mock'>) => submitBodies(h).map((body) => body.requirements.trust);
const cancels = (h: Pick<Harness, 'mock'>) =>
  h.mock.requests.filter(({ path }) => path.endsWith('/cancel')).length;

describe('own machines first', () => {
  test('a person’s own machine has it before the pool is asked', async () => {
    const h = await own();
    h.mock.next({ result: 'at home' });
    expect(await call(h)).toMatchObject({ status: 'completed', job: { tier: 'own', node: 'link-1' } });
    expect(trusts(h)).toEqual([['user-owned']]);
  });

  test('the pool has it only after it is proven that the own machine will not', async () => {
    const store = createMemoryStore();
    const h = await own({ gateway: { store } });
    h.mock.next({ unplaceable: true });
    h.mock.next({ result: 'in the pool' });
    const outcome = await call(h);
    expect(outcome).toMatchObject({ status: 'completed', job: { tier: 'pool', node: 'node-pool-1' } });
    expect(trusts(h)).toEqual([['user-owned'], ['first-party']]);
    const record = await store.steps.get(outcome.step?.id ?? '');
    expect(record?.attempts.map(({ tier, state, key }) => [tier, state, key.at(-1)])).toEqual([
      ['own', 'unplaced', '1'],
      ['pool', 'open', '2'],
    ]);
    const first = await h.run.get(record?.attempts[0]?.job ?? '', { person: record?.owner ?? ben });
    expect(first).toMatchObject({ state: 'cancelled', timings: { started_at: null } });
    expect(cancels(h)).toBe(1);
  });

  test('a job that starts while it is taken back is followed, and no other one is made', async () => {
    const h = await own();
    let looked = 0;
    const late: RunService = {
      ...h.run,
      // Not placed in time by the first look; the cancel comes too late to be heard.
      follow: async (job, options) => {
        looked += 1;
        return looked === 1 ? undefined : h.run.follow(job, options);
      },
      cancel: (job, context) => h.run.get(job, context),
    };
    h.mock.next({ result: 'at home', runMs: 3000 });
    expect(await call(h, h.other({ run: late }))).toMatchObject({
      status: 'completed',
      job: { tier: 'own', node: 'link-1' },
    });
    expect([h.mock.jobs, h.mock.submits]).toEqual([1, 1]);
  });

  test('while nothing is proven nothing else is submitted', async () => {
    const h = await own();
    h.mock.next({ unplaceable: true });
    const deaf: RunService = {
      ...h.run,
      cancel: (job, context) => h.run.get(job, context),
      follow: (job, options) => h.run.follow(job, { ...options, budgetMs: Math.min(options.budgetMs, 5000) }),
    };
    expect(await call(h, h.other({ run: deaf }))).toMatchObject({
      status: 'outcome_unknown',
      executed: 'unknown',
      code: 'follow-budget',
    });
    expect(trusts(h)).toEqual([['user-owned']]);
  });

  test('a machine of somebody else is not an own one', async () => {
    const h = await own({ ownNodes: ['link-2'] });
    await call(h);
    expect(trusts(h)).toEqual([['first-party']]);
  });
});

describe('where a job may not be', () => {
  test('a result from a node outside its tier is withheld', async () => {
    const h = await own();
    h.mock.next({ result: 'from elsewhere', node: 'node-pool-1' });
    const outcome = await call(h);
    expect(outcome).toMatchObject({
      status: 'placement_violation',
      executed: 'unknown',
      job: { node: 'node-pool-1', tier: 'own' },
    });
    expect(JSON.stringify([outcome, modelText(outcome)])).not.toContain('from elsewhere');
    expect(h.mock.jobs).toBe(1);
    const again = await call(h);
    expect(again.status).toBe('placement_violation');
  });

  test('a machine that leaves the list after it took the job is where it may be, in any process', async () => {
    const store = createMemoryStore();
    const h = await own({ gateway: { store } });
    h.mock.next({ result: 'at home', runMs: 60_000 });
    h.gateway.on('step-submitted', () => {
      h.mock.setNodes([pool]);
      void h.gateway.close();
    });
    const left = await call(h);
    expect(left).toMatchObject({ status: 'outcome_unknown', code: 'closed' });
    const restored = createMemoryStore(JSON.parse(JSON.stringify(store.snapshot())));
    const outcome = await passing(h.clock, h.other({ store: restored }).resume(left.step?.id ?? ''));
    expect(outcome).toMatchObject({ status: 'completed', job: { node: 'link-1', tier: 'own' } });
  });

  test('a machine that was planned for a job is none for another, and one of the other tier is none', async () => {
    const store = createMemoryStore();
    const h = await own({ gateway: { store }, ownNodes: ['link-1', 'link-2'] });
    await call(h);
    h.mock.setNodes([{ ...link, node: 'link-2' }, pool]);
    await h.clock.advance(31_000);
    for (const [id, node] of [
      ['c2', 'link-1'],
      ['c3', 'node-pool-1'],
    ] as const) {
      h.mock.next({ result: 'from elsewhere', node });
      const again = h.gateway.call({ id, name: h.slugify, arguments: { title: 'b' } });
      const outcome = await passing(h.clock, again);
      expect(outcome.status).toBe('placement_violation');
      const record = await store.steps.get(outcome.step?.id ?? '');
      expect(record?.attempts).toMatchObject([{ tier: 'own', nodes: ['link-2'] }]);
    }
  });

  test('of a crowd of machines a record holds the first hundred', async () => {
    const store = createMemoryStore();
    const crowd = Array.from({ length: 150 }, (_, n) => ({ ...pool, node: `node-${n}` }));
    const h = await own({ mock: { nodes: crowd }, gateway: { store } });
    h.mock.next({ result: 'there', node: 'node-149' });
    const outcome = await call(h);
    expect(outcome.status).toBe('completed');
    const [attempt] = (await store.steps.get(outcome.step?.id ?? ''))?.attempts ?? [];
    expect(attempt?.nodes).toEqual(crowd.slice(0, 100).map(({ node }) => node));
  });

  test('a job that still runs there is asked to end, once', async () => {
    const h = await own();
    h.mock.next({ hang: 'until-cancel', node: 'node-nobody-knows' });
    expect((await call(h)).status).toBe('placement_violation');
    await until(() => cancels(h) === 1);
    expect(h.mock.jobs).toBe(1);
  });
});

const id = (prefix: string) => `${prefix}_01JBBBBBBBBBBBBBBBBBBBBBBB`;
const lies: [string, Partial<Job>][] = [
  ['project', { project_id: ben.project }],
  ['requester', { requester: { type: 'user', id: ben.subject } }],
  ['inputs', { inputs: [] }],
  ['inputs', { inputs: [{ name: 'slugify.js', media_id: id('med'), sha256: 'a'.repeat(64) }] }],
  ['egress', { egress: 'public' }],
  ['limits', { limits: { wall_ms: 30_000, cpu_ms: 10_000, mem_bytes: 134_217_728 } }],
  ['artifact', { artifact: { name: 'openvibe-skill-runner', version: '2.0.0' } }],
  ['artifact', { artifact: null }],
  ['class', { class: 'container' }],
  ['idempotency_key', { idempotency_key: 'other' }],
  ['idempotency_key', { idempotency_key: null }],
];

describe('a Run that answers another job than the one asked for', () => {
  test.each(lies)('%s', async (field, lie) => {
    const h = await own();
    h.mock.next({ result: 'of another job', lie });
    const outcome = await call(h);
    expect(outcome).toMatchObject({ status: 'run_error', executed: 'unknown', code: 'answer-differs' });
    expect(outcome.message).toContain(`(${field})`);
    expect(JSON.stringify([outcome, modelText(outcome)])).not.toContain('of another job');
    expect(h.mock.jobs).toBe(1);
  });
});

describe('no node', () => {
  test('nothing is submitted, and the person can be offered his own machine', async () => {
    const h = await own({ mock: { nodes: [] } });
    const outcome = await call(h);
    expect(outcome).toMatchObject({
      status: 'no_node',
      executed: false,
      offer: { label: 'Run it on my machine' },
    });
    expect(h.mock.submits).toBe(0);
  });

  test('a tool that needs the internet does not run where only none is held', async () => {
    const nodes = [
      { ...link, nets: ['deny'] },
      { ...pool, nets: ['deny', 'openvibe-only'] },
    ] as const;
    const h = await own({ mock: { nodes } });
    const outcome = await h.gateway.call({
      id: 'c1',
      name: h.fetchTitle,
      arguments: { url: 'https://a.example' },
    });
    expect(outcome.status).toBe('no_node');
    expect(h.mock.submits).toBe(0);
  });

  test('nodes that do not run skills, or are down, are none', async () => {
    const nodes = [
      { ...link, runsSkills: false },
      { ...pool, health: 'down' },
    ] as const;
    const h = await own({ mock: { nodes } });
    expect((await call(h)).status).toBe('no_node');
    expect(h.mock.submits).toBe(0);
  });

  test('own machines that could not be looked up are not known to be none: the pool does not stand in', async () => {
    const h = await own();
    h.mock.fault({ on: 'offers', kind: 'problem', status: 500, code: 'network.internal', times: 50 });
    expect(await call(h)).toMatchObject({ status: 'run_error', executed: false, code: 'nodes-unknown' });
    const unknown = runOver(h.mock, h.clock);
    const failing: RunService = {
      ...unknown,
      id: 'other',
      nodes: () => Promise.reject(new SkillRunError('run_unreachable', 'Nobody there.', { retryable: true })),
    };
    const mock = createMockRun({ clock: h.clock });
    const other = h.other({ run: [failing, runOver(mock, h.clock)] });
    expect(await call(h, other)).toMatchObject({ status: 'run_error', executed: false });
    expect([h.mock.submits, mock.submits]).toEqual([0, 0]);
  });
});

describe('several services', () => {
  test('own machines in the services’ order, then the pools in it', async () => {
    const h = await own();
    const other = createMockRun({
      clock: h.clock,
      nodes: [
        { ...link, node: 'link-2' },
        { ...pool, node: 'node-pool-2' },
      ],
    });
    const order: string[] = [];
    const told = (name: string, service: RunService): RunService => ({
      ...service,
      id: name,
      submit: (request, context) => {
        order.push(`${name} ${request.requirements.trust}`);
        return service.submit(request, context);
      },
    });
    const services = [told('first', h.run), told('second', runOver(other, h.clock, ['link-2']))];
    for (const mock of [h.mock, other]) mock.next({ unplaceable: true });
    h.mock.next({ unplaceable: true });
    other.next({ result: 'at last' });
    const outcome = await call(h, h.other({ run: services }));
    expect(outcome).toMatchObject({ status: 'completed', job: { tier: 'pool', node: 'node-pool-2' } });
    expect(order).toEqual([
      'first user-owned',
      'second user-owned',
      'first first-party',
      'second first-party',
    ]);
  });

  const noSandbox = (h: Harness): RunService => ({
    ...h.run,
    id: 'link:local',
    nodes: () => Promise.reject(new SkillRunError('link_unavailable', 'This machine has no bubblewrap.')),
    submit: () => Promise.reject(new Error('Nothing may be submitted here.')),
  });

  test('a local Link without a sandbox is no machine, and holds no pool back', async () => {
    const h = await own({ mock: { nodes: [pool] } });
    const outcome = await call(h, h.other({ run: [noSandbox(h), h.run] }));
    expect(outcome).toMatchObject({ status: 'completed', job: { tier: 'pool' } });
    expect(h.mock.jobs).toBe(1);
  });

  test('C101: a local Link without a sandbox alone runs nothing, and says why', async () => {
    const h = await own();
    const outcome = await call(h, h.other({ run: noSandbox(h) }));
    expect(outcome).toMatchObject({ status: 'no_node', executed: false });
    expect(outcome.message).toContain('This machine has no bubblewrap.');
    expect(h.mock.submits).toBe(0);
  });

  test('a local Link whose sandbox fails at the submit gives it to the next', async () => {
    const h = await own();
    const local: RunService = {
      ...noSandbox(h),
      nodes: async () => [{ node: 'link-local', tier: 'own', nets: ['deny'] }],
      submit: () => Promise.reject(new SkillRunError('link_unavailable', 'The sandbox does not open.')),
    };
    const outcome = await call(h, h.other({ run: [local, h.run] }));
    expect(outcome).toMatchObject({ status: 'completed', job: { node: 'link-1' } });
    expect(h.mock.jobs).toBe(1);
  });
});

test('a Run whose nodes never answer keeps nobody from deciding', async () => {
  const h = await harness({ gateway: { store: createMemoryStore() } });
  const run: RunService = { ...h.run, nodes: () => new Promise<never>(() => {}) };
  const { step } = await h.other({ run }).call({ name: h.slugify, arguments: { title: 'a' } });
  const [request] = await passing(h.clock, h.other({ run }).approvals.pending());
  expect(request).toMatchObject({ id: step?.id, where: expect.stringContaining('not known now') });
  const asked: string[] = [];
  const denying = h.other({
    run,
    approver: async ({ id }) => {
      asked.push(id);
      return { decision: 'deny' };
    },
  });
  const denied = await passing(h.clock, denying.call({ name: h.slugify, arguments: { title: 'b' } }));
  expect([denied.status, asked]).toEqual(['denied', [denied.step?.id]]);
});
