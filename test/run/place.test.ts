import { describe, expect, test } from 'vitest';
import { SkillRunError } from '../../src/errors.ts';
import { awaitPlacement, checkPlacement, planPlacement, type Target, withdraw } from '../../src/run/place.ts';
import { createRunService } from '../../src/run/run-service.ts';
import type { RunNode, RunService } from '../../src/run/service.ts';
import type { Job, JobRequest } from '../../src/run/wire.ts';
import type { Net } from '../../src/skill/caps.ts';
import { fakeRun, jobAnswer, problem, submitAnswer } from './support/fake-run.ts';
import { ann, ids, jobIn, requestOf } from './support/jobs.ts';
import { createTestClock } from './support/test-clock.ts';

const context = { person: ann };
const node = (name: string, tier: RunNode['tier'], nets: readonly Net[] = ['deny']): RunNode => ({
  node: name,
  tier,
  nets,
});

interface World {
  /** What a read of a job answers. */
  job: (id: string) => Job | undefined;
  nodes?: (fresh: boolean) => readonly RunNode[];
  onCancel?: (id: string) => void;
  cancelFails?: boolean;
}

function setUp(world: World, id = 'run') {
  const clock = createTestClock();
  const submits: JobRequest[] = [];
  const run = fakeRun(({ line, url, body }) => {
    if (line === 'POST /api/v1/jobs') {
      submits.push(body as JobRequest);
      const request = body as JobRequest;
      return submitAnswer(jobIn('queued', { id: submits.length === 1 ? ids.job : ids.otherJob }, request));
    }
    const [, , , , jobId = '', action] = url.pathname.split('/');
    if (action === 'stream') return problem(503, 'run.stream.disabled');
    if (action === 'cancel') world.onCancel?.(jobId);
    if (action === 'cancel' && world.cancelFails) return new TypeError('fetch failed');
    const job = world.job(jobId);
    return job === undefined ? problem(404, 'run.job_not_found') : jobAnswer(job);
  });
  let looks = 0;
  const service = createRunService({
    id,
    token: () => 'tok',
    fetch: run.fetch,
    clock,
    retries: 0,
    nodes: {
      nodes: async (_, { fresh = false } = {}) => {
        looks += 1;
        return world.nodes?.(fresh) ?? [];
      },
    },
  });
  return { clock, run, service, submits, looks: () => looks };
}

const names = (targets: readonly Target[]): string[] =>
  targets.map(
    ({ service, tier, nodes }) => `${service.id} ${tier} ${nodes.map((one) => one.node).join(',')}`,
  );

describe('planPlacement', () => {
  const serviceOf = (id: string, nodes: readonly RunNode[] | SkillRunError): RunService =>
    setUp(
      {
        job: () => undefined,
        nodes: () => {
          if (nodes instanceof SkillRunError) throw nodes;
          return nodes;
        },
      },
      id,
    ).service;
  const unreachable = new SkillRunError('run_unreachable', 'x', { retryable: true });

  test('every own tier goes before every pool, in the order of the services', async () => {
    const services = [
      serviceOf('a', [node('a-pool', 'pool'), node('a-own', 'own')]),
      serviceOf('b', [node('b-own', 'own'), node('b-own-2', 'own')]),
      serviceOf('c', [node('c-pool', 'pool')]),
    ];
    const { targets, failures } = await planPlacement(services, { net: 'deny', context });
    expect(names(targets)).toEqual(['a own a-own', 'b own b-own,b-own-2', 'a pool a-pool', 'c pool c-pool']);
    expect(failures).toEqual([]);
  });

  test('C101: only nodes that can hold the tool’s net count; none is no target at all', async () => {
    const services = [
      serviceOf('a', [
        node('own', 'own', ['deny']),
        node('wide', 'pool', ['deny', 'public']),
        node('no', 'pool', []),
      ]),
    ];
    expect(names((await planPlacement(services, { net: 'public', context })).targets)).toEqual([
      'a pool wide',
    ]);
    expect((await planPlacement(services, { net: 'openvibe-only', context })).targets).toEqual([]);
    expect((await planPlacement([], { net: 'deny', context })).targets).toEqual([]);
  });

  test('a service that could not be asked is reported, and no pool stands in for it', async () => {
    const services = [
      serviceOf('a', unreachable),
      serviceOf('b', [node('b-own', 'own'), node('b-pool', 'pool')]),
    ];
    const { targets, failures } = await planPlacement(services, { net: 'deny', context });
    expect(names(targets)).toEqual(['b own b-own']);
    expect(failures.map(({ service, error }) => [service.id, error])).toEqual([['a', unreachable]]);
  });

  test.each(['aborted', 'option_invalid'] as const)(
    '%s is no failure of a service: it rejects',
    async (code) => {
      const services = [serviceOf('a', new SkillRunError(code, 'x'))];
      await expect(planPlacement(services, { net: 'deny', context })).rejects.toMatchObject({ code });
    },
  );
});

describe('awaitPlacement', () => {
  test.each([
    ['placed', jobIn('placed')],
    ['started', jobIn('running')],
    ['ended', jobIn('succeeded')],
    ['ended', jobIn('expired')],
  ])('%s', async (kind, then) => {
    const world = { job: () => jobIn('queued') };
    const { clock, service } = setUp(world);
    const work = awaitPlacement(service, ids.job, { context, waitMs: 10_000 });
    await clock.advance(3000);
    world.job = () => then;
    expect(await clock.run(work)).toEqual({ kind, job: then });
  });

  test('a job that is still queued when the wait is over is not placed', async () => {
    const { clock, service } = setUp({ job: () => jobIn('queued') });
    const start = clock.now();
    expect(await clock.run(awaitPlacement(service, ids.job, { context, waitMs: 10_000 }))).toEqual({
      kind: 'not-placed',
    });
    expect(clock.now() - start).toBe(10_000);
  });
});

describe('withdraw', () => {
  const back = { context, waitMs: 10_000 };

  test.each(['cancelled', 'expired'] as const)(
    'a job that ended %s without having started is withdrawn',
    async (state) => {
      let job = jobIn('queued');
      const { clock, service } = setUp({
        job: () => job,
        onCancel: () => {
          job = jobIn(state);
        },
      });
      expect(await clock.run(withdraw(service, ids.job, back))).toEqual({ kind: 'withdrawn', job });
    },
  );

  test('the answer to a cancel is no proof: a placed job is waited for', async () => {
    let job = jobIn('placed');
    const { clock, run, service } = setUp({ job: () => job });
    const work = withdraw(service, ids.job, back);
    await clock.advance(4000);
    const reads = run.count(`GET /api/v1/jobs/${ids.job}`);
    expect(reads).toBeGreaterThan(1);
    job = jobIn('cancelled');
    expect(await clock.run(work)).toMatchObject({ kind: 'withdrawn' });
  });

  test('a job that started meanwhile is to be followed', async () => {
    let job = jobIn('queued');
    const { clock, service } = setUp({
      job: () => job,
      onCancel: () => {
        job = jobIn('running');
      },
    });
    expect(await clock.run(withdraw(service, ids.job, back))).toEqual({ kind: 'started', job });
  });

  const started = { ...jobIn('cancelled').timings, started_at: '2026-11-20T10:00:01Z' };
  test.each([
    ['it succeeded', jobIn('succeeded')],
    ['it failed', jobIn('failed')],
    [
      'it failed before it started',
      jobIn('failed', { timings: { ...jobIn('failed').timings, started_at: null } }),
    ],
    ['it was cancelled while it ran', jobIn('cancelled', { timings: started })],
    ['it expired while it ran', jobIn('expired', { timings: started })],
  ])('a job that came to its own end is not withdrawn: %s', async (_, job) => {
    const { clock, service } = setUp({ job: () => job });
    expect(await clock.run(withdraw(service, ids.job, back))).toEqual({ kind: 'ended', job });
  });

  test('a cancel that was answered while the job stays placed proves nothing', async () => {
    const { clock, service } = setUp({ job: () => jobIn('placed') });
    expect(await clock.run(withdraw(service, ids.job, back))).toEqual({ kind: 'unknown' });
  });

  test('a cancel whose answer was lost may have been heard: the job says', async () => {
    let job = jobIn('queued');
    const { clock, service } = setUp({
      job: () => job,
      cancelFails: true,
      onCancel: () => {
        job = jobIn('cancelled');
      },
    });
    expect(await clock.run(withdraw(service, ids.job, back))).toMatchObject({ kind: 'withdrawn' });
  });

  test('a job that Run no longer knows is unknown', async () => {
    const { clock, service } = setUp({ job: () => undefined });
    expect(await clock.run(withdraw(service, ids.job, back))).toEqual({ kind: 'unknown' });
  });

  test('an abort is an abort', async () => {
    const { clock, service } = setUp({ job: () => jobIn('placed') });
    const controller = new AbortController();
    const work = withdraw(service, ids.job, {
      context: { ...context, signal: controller.signal },
      waitMs: 10_000,
    });
    work.catch(() => {});
    await clock.advance(1000);
    controller.abort();
    await expect(work).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('checkPlacement', () => {
  const targetOf = (service: RunService, nodes: readonly RunNode[] = []): Target => ({
    service,
    tier: 'own',
    net: 'deny',
    nodes,
  });

  test('a node of the target is allowed, without another look-up', async () => {
    const { service, looks } = setUp({ job: () => undefined });
    const target = targetOf(service, [node('node-1', 'own')]);
    expect(await checkPlacement(jobIn('running'), target, context)).toBe('allowed');
    expect(looks()).toBe(0);
  });

  test('a node that the directory did not know yet is judged by one fresh look-up', async () => {
    const { service, looks } = setUp({
      job: () => undefined,
      nodes: (fresh) => (fresh ? [node('node-1', 'own')] : []),
    });
    expect(await checkPlacement(jobIn('running'), targetOf(service), context)).toBe('allowed');
    expect(looks()).toBe(1);
  });

  test.each([
    ['outside every tier', [node('other', 'own')]],
    ['of the other tier', [node('node-1', 'pool')]],
    ['that cannot hold the net', [node('node-1', 'own', ['public'])]],
  ])('a node %s is a violation, after one look-up', async (_, nodes) => {
    const { service, looks } = setUp({ job: () => undefined, nodes: () => nodes });
    for (const state of ['placed', 'running', 'succeeded', 'failed'] as const) {
      expect(await checkPlacement(jobIn(state), targetOf(service), context)).toBe('violation');
    }
    expect(looks()).toBe(4);
  });

  test('a job on no node is unplaced, unless it says that it started', async () => {
    const { service } = setUp({ job: () => undefined });
    const judge = (job: Job) => checkPlacement({ ...job, placement: null }, targetOf(service), context);
    expect(await judge(jobIn('queued'))).toBe('unplaced');
    expect(await judge(jobIn('expired'))).toBe('unplaced');
    expect(await judge(jobIn('placed'))).toBe('violation');
    expect(await judge(jobIn('running'))).toBe('violation');
    expect(await judge(jobIn('succeeded'))).toBe('violation');
    expect(await judge(jobIn('failed'))).toBe('violation');
  });

  test('a fresh look-up that fails allows nothing', async () => {
    const { service } = setUp({
      job: () => undefined,
      nodes: () => {
        throw new SkillRunError('run_unreachable', 'x');
      },
    });
    await expect(checkPlacement(jobIn('succeeded'), targetOf(service), context)).rejects.toMatchObject({
      code: 'run_unreachable',
    });
  });
});

describe('own first, exactly once', () => {
  // What the gateway does between its writes, without the writes.
  const drive = async (service: RunService): Promise<string[]> => {
    const told: string[] = [];
    const { targets } = await planPlacement([service], { net: 'deny', context });
    for (const [n, target] of targets.entries()) {
      const request = requestOf({ tier: target.tier, key: `${ids.step}:${n + 1}` });
      const { job } = await service.submit(request, context);
      const placement = await awaitPlacement(service, job.id, { context, waitMs: 10_000 });
      if (placement.kind !== 'not-placed') {
        told.push(`${target.tier} ${placement.kind}`);
        return told;
      }
      const withdrawal = await withdraw(service, job.id, { context, waitMs: 10_000 });
      told.push(`${target.tier} ${withdrawal.kind}`);
      if (withdrawal.kind !== 'withdrawn') return told;
    }
    return told;
  };
  const both = (): RunNode[] => [node('node-1', 'pool'), node('home', 'own')];

  test('a job that no own machine takes goes to the pool, after its proven end', async () => {
    const cancelled = new Set<string>();
    const { clock, service, submits } = setUp({
      nodes: both,
      onCancel: (id) => cancelled.add(id),
      job: (id) => {
        if (cancelled.has(id)) return jobIn('cancelled', { id });
        return id === ids.job ? jobIn('queued', { id }) : jobIn('running', { id });
      },
    });
    expect(await clock.run(drive(service))).toEqual(['own withdrawn', 'pool started']);
    expect(submits.map(({ requirements }) => requirements.trust)).toEqual([['user-owned'], ['first-party']]);
    expect(new Set(submits.map((one) => one.idempotency_key)).size).toBe(2);
    expect([...cancelled]).toEqual([ids.job]);
  });

  test.each([
    ['started', jobIn('running')],
    ['unknown', jobIn('placed')],
  ])('one whose withdrawal is %s is the only one', async (kind, after) => {
    let cancelled = false;
    const { clock, service, submits } = setUp({
      nodes: both,
      onCancel: () => {
        cancelled = true;
      },
      job: () => (cancelled ? after : jobIn('queued')),
    });
    expect(await clock.run(drive(service))).toEqual([`own ${kind}`]);
    expect(submits).toHaveLength(1);
  });

  test('one that its own machine takes is never seen by the pool', async () => {
    const { clock, service, submits } = setUp({ nodes: both, job: () => jobIn('running') });
    expect(await clock.run(drive(service))).toEqual(['own started']);
    expect(submits).toHaveLength(1);
  });
});

describe('createRunService', () => {
  test('its id is its host, or the one it is given', () => {
    const nodes = { nodes: async () => [] };
    const token = (): string => 't';
    expect(createRunService({ token, nodes }).id).toBe('run:openvibe.run');
    expect(createRunService({ token, nodes, baseUrl: 'http://127.0.0.1:81' }).id).toBe('run:127.0.0.1:81');
    expect(createRunService({ token, nodes, id: 'mine' }).id).toBe('mine');
  });
});
