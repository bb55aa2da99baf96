import { describe, expect, test } from 'vitest';
import { SkillRunError } from '../../src/errors.ts';
import type { LinkOptions, LocalLink } from '../../src/link/link.ts';
import { createLink } from '../../src/link/link.ts';
import { createLocalLink } from '../../src/link/local-link.ts';
import type { LocalRunOptions } from '../../src/link/local-run.ts';
import { startLocalRun } from '../../src/link/local-run.ts';
import type { RunEnd, ToolRun } from '../../src/link/sandbox/types.ts';
import type { Job, JobRequest } from '../../src/run/wire.ts';
import { sha256, utf8 } from '../../src/skill/sha256.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { expectContract } from '../support/contracts.ts';
import {
  ann,
  bob,
  code,
  codeHash,
  elsewhere,
  gate,
  jobRequest,
  mediaId,
  runUsage,
  scriptedSandbox,
  untilKilled,
} from './helpers.ts';

function setUp(options: Partial<LinkOptions> = {}, script?: (run: ToolRun) => Promise<RunEnd> | RunEnd) {
  const clock = createManualClock();
  const scripted = scriptedSandbox(script);
  let opened = 0;
  const { link } = createLink({ owner: ann.subject, skills: 'on', clock, ...options }, async () => {
    opened += 1;
    return scripted.sandbox;
  });
  link.provide([{ mediaId, sha256: codeHash, bytes: code }]);
  const finish = async (change: Partial<JobRequest> = {}): Promise<Job> => {
    const { job } = await link.submit(jobRequest(change), { person: ann });
    const end = await link.follow(job.id, { person: ann, budgetMs: 60_000 });
    if (end === undefined) throw new Error('no end');
    expectContract('job', end);
    return end;
  };
  return { link, clock, scripted, finish, opens: () => opened };
}

const usage = runUsage;
const targets = [{ host: 'a.example', port: 443, allowed: false, bytes: 0 }];

describe('a Link', () => {
  test('is off until its owner turns it on', () => {
    const open = () => Promise.reject(new Error('never'));
    for (const skills of [undefined, 'off', true]) {
      expect(() => createLink({ owner: ann.subject, skills } as never, open)).toThrow(
        expect.objectContaining({ code: 'option_invalid', message: expect.stringContaining('off until') }),
      );
    }
    expect(() => createLink({ owner: 'ann', skills: 'on' }, open)).toThrow(
      expect.objectContaining({ code: 'option_invalid' }),
    );
  });

  const bad: [string, object][] = [
    ['maxJobs', { maxJobs: 0 }],
    ['maxJobs', { maxJobs: 65 }],
    ['maxJobs', { maxJobs: 1.5 }],
    ['maxJobs', { maxJobs: '2' }],
    ['media', { media: 'https://media.example' }],
    ['owner', { owner: undefined }],
    ['backend', { backend: 'bubblewrap' }],
    ['backend', { backend: '' }],
    ['backend', { backend: null }],
    ['node', { node: '' }],
    ['node', { node: 20 }],
    ['port', { port: -1 }],
    ['port', { port: 65_536 }],
    ['port', { port: '0' }],
    ['token', { token: 'short' }],
  ];
  test.each(bad)('refuses an option %s that is none before anything opens: %j', async (name, change) => {
    const options = { owner: ann.subject, skills: 'on', ...change } as LocalRunOptions;
    const refused = expect.objectContaining({
      code: 'option_invalid',
      message: expect.stringMatching(new RegExp(`^${name}: `)),
    });
    await expect(startLocalRun(options)).rejects.toEqual(refused);
    // These two are the server's alone.
    if (name !== 'port' && name !== 'token') expect(() => createLocalLink(options)).toThrow(refused);
  });

  test('has an id of its own, so that nothing looks in one for the jobs of another', async () => {
    const [one, two] = [setUp().link, setUp().link];
    expect(one.id).toBe(`link:${(await one.ready()).node}`);
    expect(two.id).not.toBe(one.id);
  });

  test('opens its sandbox once, at the first need, and says what it is', async () => {
    const { link, opens } = setUp();
    expect(opens()).toBe(0);
    const ready = await link.ready();
    expect(ready).toMatchObject({ backend: 'bwrap', seccomp: 'on', node: expect.stringMatching(/^link-/) });
    const [node] = await link.nodes({ person: ann });
    expect(node).toEqual({
      node: ready.node,
      tier: 'own',
      nets: ['deny'],
      detail: expect.stringMatching(/bwrap.*seccomp: on/),
    });
    await Promise.all([link.ready(), link.submit(jobRequest(), { person: ann })]);
    expect(opens()).toBe(1);
  });

  test('C101: without a sandbox nothing runs, and everything says why', async () => {
    const why = new SkillRunError('link_unavailable', 'No user namespaces here. Run: sysctl …');
    const { link } = createLink({ owner: ann.subject, skills: 'on' }, () => Promise.reject(why));
    await expect(link.ready()).rejects.toBe(why);
    await expect(link.nodes({ person: ann })).rejects.toBe(why);
    await expect(link.submit(jobRequest(), { person: ann })).rejects.toBe(why);
    await link.close();
  });

  test('an opening that failed is tried again at the next need', async () => {
    let tries = 0;
    const why = new SkillRunError('link_unavailable', 'No room left. Make some.');
    const { link } = createLink({ owner: ann.subject, skills: 'on' }, async () => {
      tries += 1;
      if (tries < 3) throw why;
      return scriptedSandbox().sandbox;
    });
    const both = await Promise.allSettled([link.ready(), link.nodes({ person: ann })]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(tries).toBe(1);
    await expect(link.ready()).rejects.toBe(why);
    expect(await link.ready()).toMatchObject({ backend: 'bwrap' });
    expect(tries).toBe(3);
    await link.close();
  });

  test('200 jobs at once wait for maxJobs places, and no project for all jobs of another', async () => {
    let working = 0;
    let most = 0;
    const begun: unknown[] = [];
    const { link } = setUp({ maxJobs: 3 }, async (run) => {
      begun.push(run.input.title);
      working += 1;
      most = Math.max(most, working);
      await new Promise(setImmediate);
      working -= 1;
      return untilKilled({ ...run, signal: AbortSignal.abort() });
    });
    const one = async (person: typeof ann, title: string) => {
      const request = jobRequest({ args: { tool: 'slugify', entry: 'slugify.js', input: { title } } });
      const requirements = { ...request.requirements, project_id: person.project };
      const { job } = await link.submit({ ...request, requirements }, { person });
      return (await link.follow(job.id, { person, budgetMs: 60_000 }))?.state;
    };
    const many = Array.from({ length: 195 }, () => one(ann, 'many'));
    const few = Array.from({ length: 5 }, (_, nth) => one(elsewhere, `few ${nth}`));
    expect(new Set(await Promise.all([...many, ...few]))).toEqual(new Set(['cancelled']));
    expect({ begun: begun.length, most }).toEqual({ begun: 200, most: 3 });
    // Each second place is theirs, in their own order, though all the others had asked before.
    const places = Array.from({ length: 5 }, (_, nth) => begun.indexOf(`few ${nth}`));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    expect(places.at(-1)).toBeLessThan(3 + 2 * 5);
    await link.close();
  });

  test('200 jobs at once, all followed under one signal, queue and run without a warning', async () => {
    const warnings: Error[] = [];
    const hear = (warning: Error): void => void warnings.push(warning);
    process.on('warning', hear);
    const { link, clock, scripted } = setUp();
    const context = { person: ann, signal: new AbortController().signal };
    const ends = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const { job } = await link.submit(jobRequest(), context);
        return link.follow(job.id, { ...context, budgetMs: 60_000 });
      }),
    );
    expect(ends.filter((job) => job?.state === 'succeeded')).toHaveLength(200);
    expect(scripted.runs).toHaveLength(200);
    expect(clock.sleepers).toBe(0);
    // A warning is told in a later turn.
    await new Promise(setImmediate);
    process.off('warning', hear);
    expect(warnings).toEqual([]);
    await link.close();
  });

  test('runs the tool and answers its value', async () => {
    const { link, finish, scripted } = setUp();
    const job = await finish();
    expect(job).toMatchObject({
      state: 'succeeded',
      result: { slug: 'hi' },
      exit: { reason: 'exited', code: 0 },
      usage: { seconds: 1.234, wall_ms: 1234, cpu_ms: 80, mem_peak_bytes: 1_000_000 },
      placement: { node: (await link.ready()).node },
      project_id: ann.project,
      requester: { type: 'user', id: ann.subject },
    });
    expect(scripted.runs).toEqual([
      {
        files: [{ path: 'slugify.js', bytes: Uint8Array.from(code) }],
        entry: 'slugify.js',
        input: { title: 'Hi' },
        limits: { wall_ms: 10_000, mem_bytes: 134_217_728 },
        net: 'deny',
        signal: expect.any(AbortSignal),
        onStart: expect.any(Function),
      },
    ]);
    expect(await link.diagnostics(job.id, { person: ann })).toEqual({
      stderr: 'a word for the person',
      targets: [],
    });
    expect(JSON.stringify(job)).not.toContain('a word for the person');
  });

  test("C104: another person's job is refused, and another project's is not there", async () => {
    const { link, finish, scripted } = setUp();
    const { id } = await finish();
    const context = { person: bob };
    const refused = { code: 'run_problem', status: 403, problem: 'capability.denied' };
    await expect(link.submit(jobRequest(), context)).rejects.toMatchObject(refused);
    await expect(link.get(id, context)).rejects.toMatchObject(refused);
    await expect(link.cancel(id, context)).rejects.toMatchObject(refused);
    await expect(link.diagnostics(id, context)).rejects.toMatchObject(refused);
    await expect(link.follow(id, { ...context, budgetMs: 1 })).rejects.toMatchObject(refused);
    expect(await link.nodes(context)).toEqual([]);
    await expect(link.get(id, { person: elsewhere })).rejects.toMatchObject({ code: 'job_not_found' });
    expect(scripted.runs).toHaveLength(1);
  });

  test('C96: twenty submits at once under one key are one run', async () => {
    const { link, scripted } = setUp();
    const request = jobRequest();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => link.submit(request, { person: ann })),
    );
    await link.follow(answers[0]?.job.id ?? '', { person: ann, budgetMs: 1000 });
    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(scripted.runs).toHaveLength(1);
  });

  test('what was submitted is what runs, whatever becomes of the request later', async () => {
    const { link, scripted } = setUp();
    const input = { title: 'as approved' };
    const request = jobRequest({ args: { tool: 'slugify', entry: 'slugify.js', input } });
    const submitting = link.submit(request, { person: ann });
    input.title = 'changed';
    const { job } = await submitting;
    await link.follow(job.id, { person: ann, budgetMs: 1000 });
    expect(scripted.runs[0]?.input).toEqual({ title: 'as approved' });
  });

  test('checks a submit as the API does', async () => {
    const { link } = setUp();
    const wide = jobRequest({ limits: { wall_ms: 30_001, cpu_ms: 30_001, mem_bytes: 1 } });
    await expect(link.submit(wide, { person: ann })).rejects.toMatchObject({
      problem: 'run.limits.exceeded',
    });
    const odd = { ...jobRequest(), project_id: elsewhere.project } as JobRequest;
    await expect(link.submit(odd, { person: ann })).rejects.toMatchObject({ problem: 'run.invalid_request' });
  });
});

describe('before anything starts', () => {
  const refusedJob = { state: 'failed', exit: { reason: 'failed' }, timings: { started_at: null } };

  test('other bytes than the pinned ones end the job', async () => {
    const { finish, scripted } = setUp({ media: async () => utf8('evil()') });
    const pinned = await sha256('something else');
    const job = await finish({ inputs: [{ name: 'slugify.js', media_id: mediaId, sha256: pinned }] });
    expect(job).toMatchObject({ ...refusedJob, error: { code: 'run.job.input_digest_mismatch' } });
    const size = await finish({
      inputs: [{ name: 'slugify.js', media_id: mediaId, sha256: codeHash, size_bytes: 3 }],
    });
    expect(size.error?.code).toBe('run.job.input_digest_mismatch');
    expect(scripted.runs).toEqual([]);
  });

  test('code that is not there, or whose source fails, ends the job', async () => {
    const failing = setUp({ media: () => Promise.reject(new Error('secret url')) });
    const inputs = [{ name: 'slugify.js', media_id: mediaId, sha256: '0'.repeat(64) }];
    for (const { finish, scripted } of [setUp(), failing]) {
      const job = await finish({ inputs });
      expect(job).toMatchObject({ ...refusedJob, error: { code: 'run.job.worker_failed' } });
      expect(JSON.stringify(job)).not.toContain('secret');
      expect(scripted.runs).toEqual([]);
    }
  });

  test.each([
    ['an object that claims a small size and has a great length', { byteLength: 5, length: 3_000_000_000 }],
    ['a list', [...code]],
    ['a text', new TextDecoder().decode(code)],
    ['null', null],
  ])('%s in place of bytes ends the job, and nothing of it is copied', async (_name, answer) => {
    const { finish, scripted } = setUp({ media: async () => answer as unknown as Uint8Array });
    const inputs = [{ name: 'slugify.js', media_id: mediaId, sha256: '0'.repeat(64) }];
    const detail = 'inputs: one could not be fetched by this Link.';
    expect(await finish({ inputs })).toMatchObject({ ...refusedJob, error: { detail } });
    expect(scripted.runs).toEqual([]);
  });

  test('a file over 64 KiB ends the job', async () => {
    const big = new Uint8Array(65_537);
    const { finish, scripted } = setUp({ media: async () => big });
    const job = await finish({ inputs: [{ name: 'a.js', media_id: mediaId, sha256: await sha256(big) }] });
    expect(job).toMatchObject({ ...refusedJob, error: { code: 'run.job.worker_failed' } });
    expect(scripted.runs).toEqual([]);
  });

  test.each(['run.sh', 'a.txt', 'js', 'a..js', 'a.js.', 'node_modules', 'x.JS'])(
    'an input named %s ends the job',
    async (name) => {
      const { finish, scripted } = setUp();
      const job = await finish({ inputs: [{ name, media_id: mediaId, sha256: codeHash }] });
      expect(job).toMatchObject({
        ...refusedJob,
        error: { detail: expect.stringContaining('not named like') },
      });
      expect(scripted.runs).toEqual([]);
    },
  );

  const badArgs: [string, object][] = [
    ['another field', { net: 'public' }],
    ['no tool', { tool: undefined }],
    ['an odd tool', { tool: '../x' }],
    ['an entry that is no input', { entry: 'other.js' }],
    ['an input that is a list', { input: [] }],
    ['an input over 64 KiB', { input: { title: 'x'.repeat(65_536) } }],
  ];
  test.each(badArgs)('args with %s end the job', async (_name, change) => {
    const { finish, scripted } = setUp();
    const args = { ...jobRequest().args, ...change } as JobRequest['args'];
    const job = await finish({ args });
    expect(job).toMatchObject({ ...refusedJob, error: { code: 'run.job.worker_failed' } });
    expect(scripted.runs).toEqual([]);
  });

  test('a network that the probe withheld is what its jobs are told of; deny goes on', async () => {
    const { sandbox } = scriptedSandbox();
    const clock = createManualClock();
    const withheld = 'A canary got out. Run: mend it';
    const { link } = createLink({ owner: ann.subject, skills: 'on', clock }, async () => ({
      ...sandbox,
      withheld,
    }));
    link.provide([{ mediaId, sha256: codeHash, bytes: code }]);
    const submit = async (change: Partial<JobRequest>) =>
      (await link.submit(jobRequest(change), { person: ann })).job.id;
    const out = await submit({ egress: 'public', ttl_ms: 1000 });
    const far = await submit({
      requirements: { ...jobRequest().requirements, trust: ['first-party'] },
      ttl_ms: 1000,
    });
    const alone = await submit({});
    expect((await link.follow(alone, { person: ann, budgetMs: 1000 }))?.state).toBe('succeeded');
    await clock.advance(1000);
    const expired = await link.get(out, { person: ann });
    expect(expired).toMatchObject({
      state: 'expired',
      error: { code: 'run.job.unplaceable', detail: withheld },
    });
    expectContract('job', expired);
    expect((await link.get(far, { person: ann })).error?.detail).toBe('No node offered to run the job.');
    await link.close();
  });

  test('the tree of a tool is restored from the names', async () => {
    const { finish, scripted } = setUp();
    const names = ['main.js', 'lib.text.js', 'a.b-c.d_e.js'];
    await finish({
      inputs: names.map((name) => ({ name, media_id: mediaId, sha256: codeHash })),
      args: { tool: 't', entry: 'lib/text.js', input: {} },
    });
    expect(scripted.runs[0]?.files.map(({ path }) => path)).toEqual([
      'main.js',
      'lib/text.js',
      'a/b-c/d_e.js',
    ]);
  });

  const own = jobRequest().requirements;
  const stranger: [string, Partial<JobRequest>][] = [
    ['another artifact', { artifact: { name: 'openvibe-codes', version: '1.0.0' } }],
    ['another version', { artifact: { name: 'openvibe-skill-runner', version: '1.0.1' } }],
    ['a network it cannot hold', { egress: 'public' }],
    ['the pool', { requirements: { ...own, trust: ['first-party'] } }],
    ['a capability it lacks', { requirements: { ...own, capabilities: ['worker:gpu'] } }],
    ['another kind of work', { requirements: { ...own, kind: 'run.browser' as 'run.function' } }],
    ['a session', { requirements: { ...own, mobility: 'session' as 'job' } }],
    ['less processor time than the sandbox is told', { limits: { wall_ms: 2, cpu_ms: 1, mem_bytes: 1 } }],
  ];
  test.each(stranger)('a job for %s stays queued until its ttl', async (_name, change) => {
    const { link, clock, scripted } = setUp();
    const { job } = await link.submit(jobRequest({ ttl_ms: 5000, ...change }), { person: ann });
    const end = link.follow(job.id, { person: ann, budgetMs: 60_000 });
    await clock.advance(4999);
    expect((await link.get(job.id, { person: ann })).state).toBe('queued');
    await clock.advance(1);
    expect(await end).toMatchObject({ state: 'expired', error: { code: 'run.job.unplaceable' } });
    expect(scripted.runs).toEqual([]);
  });
});

describe('a media source that never answers', () => {
  const asked = gate<AbortSignal>();
  const inputs = [{ name: 'slugify.js', media_id: mediaId, sha256: '0'.repeat(64) }];
  const deaf = () =>
    setUp({
      maxJobs: 1,
      media: (_id, { signal }) => {
        asked.open(signal);
        return new Promise(() => undefined);
      },
    });
  const stuck = async (link: LocalLink): Promise<string> =>
    (await link.submit(jobRequest({ inputs, ttl_ms: 5000 }), { person: ann })).job.id;

  test('holds up neither a cancel nor the next job', async () => {
    const { link, finish, scripted } = deaf();
    const id = await stuck(link);
    expect((await asked.promise).aborted).toBe(false);
    await link.cancel(id, { person: ann });
    // No turn of the clock goes by: it stands still.
    const end = await link.follow(id, { person: ann, budgetMs: 1 });
    expect(end).toMatchObject({ state: 'cancelled', timings: { started_at: null } });
    expect((await asked.promise).aborted).toBe(true);
    expect(await finish()).toMatchObject({ state: 'succeeded' });
    expect(scripted.runs).toHaveLength(1);
  });

  test('nor the ttl', async () => {
    const { link, clock, finish } = deaf();
    const id = await stuck(link);
    const waiting = finish();
    await clock.advance(5000);
    expect((await link.get(id, { person: ann })).error?.code).toBe('run.job.ttl');
    expect(await waiting).toMatchObject({ state: 'succeeded' });
  });

  test('nor an abort of who follows', async () => {
    const { link } = deaf();
    const stop = new AbortController();
    const end = link.follow(await stuck(link), { person: ann, budgetMs: 1000, signal: stop.signal });
    stop.abort();
    await expect(end).rejects.toMatchObject({ code: 'aborted' });
    await link.close();
  });

  test('nor a close', async () => {
    const { link, scripted } = deaf();
    const id = await stuck(link);
    await link.close();
    expect(scripted.closed).toBe(1);
    expect((await link.get(id, { person: ann })).state).toBe('cancelled');
  });
});

describe('how a run ends', () => {
  const stderr = 'x';
  const ends: [string, RunEnd, object][] = [
    [
      'a limit',
      { kind: 'limit', limit: 'memory', detail: 'too much', stderr, usage, targets },
      { state: 'failed', exit: { reason: 'limit', code: null }, error: { code: 'run.job.limit' } },
    ],
    [
      'a non-zero exit',
      { kind: 'failed', exitCode: 7, detail: 'exit 7', stderr, usage, targets },
      { state: 'failed', exit: { reason: 'exited', code: 7 }, error: { code: 'run.job.exit_nonzero' } },
    ],
    [
      'a bad output',
      { kind: 'failed', exitCode: 0, detail: 'not JSON', stderr, usage, targets },
      { state: 'failed', exit: { reason: 'exited', code: 1 }, error: { code: 'run.job.exit_nonzero' } },
    ],
    [
      'a refusal',
      { kind: 'refused', detail: 'no', stderr, usage, targets },
      { state: 'failed', exit: { reason: 'failed', code: null }, error: { code: 'run.job.worker_failed' } },
    ],
    ['a cancel', { kind: 'cancelled', stderr, usage, targets }, { state: 'cancelled', error: null }],
    [
      'a detail that is hostile',
      { kind: 'failed', exitCode: 1, detail: `\u202e${'\u0000'.repeat(5000)}`, stderr, usage, targets },
      { error: { detail: expect.stringMatching(/^\\u\{202e\}(\\u\{0\})+/) } },
    ],
  ];
  test.each(ends)('%s', async (_name, end, expected) => {
    const { finish, link } = setUp({}, () => end);
    const job = await finish();
    expect(job).toMatchObject(expected);
    expect(await link.diagnostics?.(job?.id ?? '', { person: ann })).toEqual({ stderr, targets });
  });

  test('a cancel kills the tool', async () => {
    const { link } = setUp({}, untilKilled);
    const { job } = await link.submit(jobRequest(), { person: ann });
    const started = await link.follow(job.id, {
      person: ann,
      budgetMs: 1000,
      until: ({ state }) => state === 'running',
    });
    expect(started?.state).toBe('running');
    expect((await link.cancel(job.id, { person: ann })).state).toBe('running');
    const end = await link.follow(job.id, { person: ann, budgetMs: 1000 });
    expect(end).toMatchObject({ state: 'cancelled', exit: { reason: 'cancelled' } });
  });

  test('close kills what runs, closes the sandbox, refuses what comes', async () => {
    const { link, scripted, clock } = setUp({}, untilKilled);
    const { job } = await link.submit(jobRequest(), { person: ann });
    await link.close();
    expect(scripted.closed).toBe(1);
    expect((await link.get(job.id, { person: ann })).state).toBe('cancelled');
    await expect(link.submit(jobRequest(), { person: ann })).rejects.toMatchObject({ code: 'closed' });
    await expect(link.nodes({ person: ann })).rejects.toMatchObject({ code: 'closed' });
    expect(clock.sleepers).toBe(0);
  });
});

describe('follow', () => {
  test('tells each state once and leaves no timer', async () => {
    const { link, clock } = setUp();
    const { job } = await link.submit(jobRequest(), { person: ann });
    const states: string[] = [];
    await link.follow(job.id, { person: ann, budgetMs: 1000, onJob: ({ state }) => states.push(state) });
    expect(states.at(-1)).toBe('succeeded');
    expect(new Set(states).size).toBe(states.length);
    expect(clock.sleepers).toBe(0);
  });

  test('C103: gives up after its budget while the job runs on', async () => {
    const { link, clock } = setUp({}, untilKilled);
    const { job } = await link.submit(jobRequest(), { person: ann });
    const end = link.follow(job.id, { person: ann, budgetMs: 500 });
    await clock.advance(500);
    expect(await end).toBeUndefined();
    expect((await link.get(job.id, { person: ann })).state).toBe('running');
    await link.close();
  });

  test('rejects on an abort, and on a job that is not there', async () => {
    const { link } = setUp({}, untilKilled);
    const { job } = await link.submit(jobRequest(), { person: ann });
    const stop = new AbortController();
    const end = link.follow(job.id, { person: ann, budgetMs: 500, signal: stop.signal });
    stop.abort();
    await expect(end).rejects.toMatchObject({ code: 'aborted' });
    await expect(
      link.follow('job_01JAB2C3D4E5F6G7H8J9K0MNPQ', { person: ann, budgetMs: 5 }),
    ).rejects.toMatchObject({ code: 'job_not_found' });
    await link.close();
  });
});
