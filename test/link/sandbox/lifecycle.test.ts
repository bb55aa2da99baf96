import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { createSkillGateway } from '../../../src/gateway/gateway.ts';
import { internet } from '../../../src/link/egress/outside.ts';
import type { Link } from '../../../src/link/link.ts';
import { createLink } from '../../../src/link/link.ts';
import type { Command } from '../../../src/link/sandbox/command.ts';
import { openAdjustedSandbox } from '../../../src/link/sandbox/open.ts';
import { processTree, startTime } from '../../../src/link/sandbox/process-tree.ts';
import { verifySkills } from '../../../src/menu/skill-set.ts';
import type { JobRequest, JobState } from '../../../src/run/wire.ts';
import { sha256, utf8 } from '../../../src/skill/sha256.ts';
import { approve } from '../../support/harness.ts';
import { makeSkill } from '../../support/skills.ts';
import { ann, gate, jobRequest } from '../helpers.ts';
import { atOnce, backends, eventually, makeDirectory } from './help.ts';

/** Milliseconds from the order to the moment when nothing is left: no process and no file. */
const bound = 250;
const ttlMs = 77_000;
const hang = `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)`;
const hangId = 'med_01JAB2C3D4E5F6G7H8J9K0MN0H';
const quick = `process.stdout.write('1')`;
const quickId = 'med_01JAB2C3D4E5F6G7H8J9K0MN0Q';

// What is to be started ahead waits for a program on its stdin, and so never says that it is up.
const neverUp = (command: Command): Command => ({
  ...command,
  args: command.args.filter((word, at, { length }) => word !== '--require=/rt/warm.cjs' && at < length - 1),
});

const processes = () => processTree(process.pid).slice(1);
/** The processes that have become a tool's Node. */
const toolsUp = (): number =>
  processes().filter(({ pid }) => commandLine(pid).startsWith('/bin/node\0')).length;

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

const worlds = backends.flatMap((backend) =>
  (backend === 'bwrap' ? (['deny', 'public'] as const) : (['deny'] as const)).flatMap((net) =>
    [0, 1].map((warm) => ({ backend, net, warm })),
  ),
);

describe.each(worlds)(
  'a job on $backend, net $net, $warm started ahead, is gone with',
  ({ backend, net, warm }) => {
    const takesWarm = warm > 0 && net === 'deny';
    const on = (command: Command): Command => command;
    let directory: Awaited<ReturnType<typeof makeDirectory>>;
    let shared: Link;
    // What a test does at a start and at a run, and the end of a job's ttl, which comes when the test says so.
    let adjust = on;
    let ttl = gate<void>();
    let onRun = (): void => undefined;
    const clock: Clock = {
      now: systemClock.now,
      sleep: (ms, signal) => (ms === ttlMs ? ttl.promise : systemClock.sleep(ms, signal)),
    };

    const everything = (): string[] => [
      ...processes().map(({ pid }) => `process ${pid} ${startTime(pid)}`),
      ...readdirSync(directory.path, { recursive: true }).map(String),
    ];

    async function open(maxJobs: number): Promise<Link> {
      const made = createLink({ owner: ann.subject, skills: 'on', maxJobs, clock }, async () => {
        const options = { backend, directory: directory.path, warm };
        const sandbox = await openAdjustedSandbox(options, (command) => adjust(command), internet, atOnce);
        return {
          ...sandbox,
          run(run) {
            const end = sandbox.run(run);
            onRun();
            return end;
          },
        };
      });
      await made.link.ready();
      for (const [mediaId, code] of [
        [hangId, hang],
        [quickId, quick],
      ] as const) {
        made.link.provide([{ mediaId, sha256: await sha256(utf8(code)), bytes: utf8(code) }]);
      }
      return made;
    }

    async function submit({ link }: Link, code = hang, change: Partial<JobRequest> = {}): Promise<string> {
      const { job } = await link.submit(
        jobRequest({
          args: { tool: 'hang', entry: 'hang.js', input: {} },
          inputs: [
            {
              name: 'hang.js',
              media_id: code === hang ? hangId : quickId,
              sha256: await sha256(utf8(code)),
            },
          ],
          egress: net === 'deny' ? 'none' : net,
          ...change,
        }),
        { person: ann },
      );
      return job.id;
    }

    const states = ({ engine }: Link, state: JobState): number => engine.list({ state }, ann).jobs.length;
    // Its tool's Node is there, also where that of one started ahead is there besides.
    const isUp = (link: Link, jobs = 1): Promise<boolean> =>
      eventually(() => states(link, 'running') === jobs && toolsUp() >= jobs + (takesWarm ? 0 : warm));
    const endOf = async ({ link }: Link, id: string): Promise<JobState | undefined> =>
      (await link.follow(id, { person: ann, budgetMs: 5000 }))?.state;

    const isJobs = (one: string): boolean => /^process|\/job-/.test(one);

    /**
     * Milliseconds from an order to the moment when nothing of the job is left.
     *
     * @param start begins the job, and answers what gives the order, which may answer when it was due
     * @param refills whether another is started ahead in the place of the job's own
     */
    async function timed(start: () => Promise<() => Promise<unknown>>, refills: boolean): Promise<number> {
      expect(await eventually(() => toolsUp() === warm)).toBe(true);
      const before = everything();
      const order = await start();
      const during = everything().filter(isJobs);
      const since = performance.now();
      const due = (await order()) ?? since;
      const isLeft = (one: string): boolean => (refills ? during.includes(one) : !before.includes(one));
      expect(await eventually(() => !everything().some(isLeft))).toBe(true);
      return performance.now() - Number(due);
    }

    /** The same for jobs whose processes are all killed by hand, from the inside out: what this machine takes for it. */
    async function timedByHand(jobs: number): Promise<number> {
      await Promise.all(Array.from({ length: jobs }, () => submit(shared)));
      expect(await isUp(shared, jobs)).toBe(true);
      const during = everything().filter(isJobs);
      const since = performance.now();
      for (const { pid } of processes().reverse()) process.kill(pid, 'SIGKILL');
      expect(await eventually(() => !everything().some((one) => during.includes(one)))).toBe(true);
      return performance.now() - since;
    }

    // Most of five tries are in time: one may be late by chance, and a fault that is late now and then is seen. On a
    // machine that others keep busy killing by hand is late too, and its time is taken off.
    async function expectInBound(
      start: () => Promise<() => Promise<unknown>>,
      { jobs = 1, refills = takesWarm } = {},
    ): Promise<void> {
      let inTime = 0;
      const late: number[] = [];
      while (inTime < 3 && late.length < 3) {
        const ms = await timed(start, refills);
        const beyond = ms < bound ? 0 : ms - (await timedByHand(jobs));
        if (beyond < bound) inTime += 1;
        else late.push(Math.round(beyond));
      }
      expect(inTime, `late, in ms beyond killing by hand: ${late}`).toBe(3);
    }

    beforeAll(async () => {
      directory = await makeDirectory();
      shared = await open(20);
    });
    afterEach(() => {
      vi.restoreAllMocks();
      adjust = on;
      ttl = gate();
    });
    afterAll(async () => {
      await shared.link.close();
      expect(everything()).toEqual([]);
      await directory[Symbol.asyncDispose]();
    });

    it('a cancel', () =>
      expectInBound(async () => {
        const id = await submit(shared);
        expect(await isUp(shared)).toBe(true);
        return async () => {
          await shared.link.cancel(id, { person: ann });
          expect(await endOf(shared, id)).toBe('cancelled');
        };
      }));

    it('the wall', async () => {
      // So long that one that was started ahead takes it, and nearly all of it left out.
      const limits = { wall_ms: 9001, cpu_ms: 9001, mem_bytes: 134_217_728 };
      let over = 0;
      const real = setTimeout;
      vi.spyOn(globalThis, 'setTimeout').mockImplementation(((then: () => void, ms = 0) => {
        if (ms <= 8000 || ms > 9001) return real(then, ms);
        over = performance.now() + ms - 8400;
        return real(then, ms - 8400);
      }) as typeof setTimeout);
      await expectInBound(async () => {
        const id = await submit(shared, hang, { limits });
        expect(await isUp(shared)).toBe(true);
        return async () => {
          expect(await endOf(shared, id)).toBe('failed');
          expect(shared.engine.get(id, ann).error).toMatchObject({ code: 'run.job.limit' });
          return over;
        };
      });
    });

    it('an abort of who submitted it', async () => {
      const skill = await makeSkill({
        document: ({ resources: [code] = [], tools: [tool] = [] }) => {
          Object.assign(code ?? {}, { text: hang });
          Object.assign(tool ?? {}, { net });
        },
      });
      const skills = await verifySkills([skill]);
      const gateway = createSkillGateway({ person: ann, skills, run: shared.link, approver: approve });
      const name = skills.menu.tools[0]?.name ?? '';
      await expectInBound(async () => {
        const stop = new AbortController();
        const outcome = gateway.call({ id: '', name, arguments: { title: 'Hi' } }, { signal: stop.signal });
        expect(await isUp(shared)).toBe(true);
        return async () => {
          stop.abort();
          expect(await outcome).toMatchObject({ status: 'cancelled' });
        };
      });
      await gateway.close();
    });

    it('its ttl', () =>
      expectInBound(async () => {
        ttl = gate();
        const id = await submit(shared, hang, { ttl_ms: ttlMs });
        expect(await isUp(shared)).toBe(true);
        return async () => {
          ttl.open();
          expect(await endOf(shared, id)).toBe('expired');
          const { error, exit, usage } = shared.engine.get(id, ann);
          expect([error?.code, exit?.reason]).toEqual(['run.job.ttl', 'ttl']);
          expect(usage.seconds).toBeGreaterThan(0);
        };
      }));

    it('its ttl, in the middle of its start', () =>
      expectInBound(async () => {
        ttl = gate();
        let over = 0;
        const expire = (): void => {
          over = performance.now();
          onRun = () => undefined;
          ttl.open();
        };
        if (takesWarm) {
          // When it waits for one that was started ahead and does not come up.
          adjust = neverUp;
          expect(await endOf(shared, await submit(shared, quick))).toBe('succeeded');
          expect(await eventually(() => toolsUp() === 1)).toBe(true);
          adjust = on;
          onRun = expire;
        } else {
          // In the turn in which its first process is started, before anybody hears of that.
          adjust = (command) => {
            adjust = on;
            process.nextTick(expire);
            return command;
          };
        }
        const id = await submit(shared, hang, { ttl_ms: ttlMs });
        return async () => {
          expect(await endOf(shared, id)).toBe('expired');
          return over;
        };
      }));

    it('a shutdown, with 20 at work', () =>
      expectInBound(
        async () => {
          const own = await open(20);
          expect(await eventually(() => toolsUp() === 2 * warm)).toBe(true);
          const ids = await Promise.all(Array.from({ length: 20 }, () => submit(own)));
          expect(await isUp(own, 20)).toBe(true);
          return async () => {
            await own.link.close();
            expect(new Set(ids.map((id) => own.engine.get(id, ann).state))).toEqual(new Set(['cancelled']));
          };
        },
        { jobs: 20, refills: false },
      ));
  },
);
