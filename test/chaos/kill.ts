import { listenOnLoopback } from '../../src/link/node-http.ts';
import type { SkillSet } from '../../src/menu/skill-set.ts';
import { type Crew, createCrew } from './crew.ts';
import { fastClock } from './fast-clock.ts';
import { createLane, type Lane, type LaneOptions } from './lane.ts';
import { subjectHeader } from './orders.ts';
import { createRandom } from './random.ts';
import { createTally, judged, type Tally } from './run.ts';
import { processes, type Schedule } from './schedule.ts';
import { makeTarget, openTarget, pester, type StoreName } from './stores.ts';

/** Which schedules are played with real processes, and over what. */
export interface KillOptions extends Pick<LaneOptions, 'makeRun'> {
  /** Of when who dies. */
  readonly seed: number;
  readonly schedules: readonly Schedule[];
  /** Stops once a process died over so many of them. Default: plays all. */
  readonly killed?: number;
  readonly skills: SkillSet;
  readonly store: Exclude<StoreName, 'memory'>;
  /** The built program of a process. */
  readonly program: string;
  /** Whether the store of each process has faults, which are to be found. Default: none. */
  readonly careless?: boolean;
}

/** Schedules that are played side by side: they share the processes, and each kill is one for all of them. */
const side = 10;
const rounds = 5;

/** Plays schedules over four real processes, which are killed at any moment. */
export async function tallyKills(options: KillOptions): Promise<Tally> {
  const { seed, schedules, killed: enough = Number.POSITIVE_INFINITY, skills, store, program } = options;
  const { careless = false, makeRun } = options;
  await using made = await makeTarget(store);
  await using opened = await openTarget(made.target);
  const epoch = Date.now();
  const clock = fastClock(epoch);
  const lanes = new Map<string, Lane>();
  const tally = createTally();
  const random = createRandom(seed);
  let isQuiet = false;
  const server = await listenOnLoopback(async (request) => {
    const lane = lanes.get(request.headers.get(subjectHeader) ?? '');
    if (lane === undefined) return new Response(null, { status: 404 });
    const [, what, slug = ''] = new URL(request.url).pathname.split('/');
    if (what === 'registry') return listed(lane, slug);
    return lane.network.send(request);
  });
  await using crew: Crew = await createCrew({
    start: { target: made.target, url: server.url, epoch, careless },
    program,
    random,
    onReport(report) {
      if (report.kind === 'unavailable') tally.unavailable += 1;
      else if ('subject' in report) lanes.get(report.subject)?.hear(report);
    },
    onBack(by) {
      if (!isQuiet) for (const lane of lanes.values()) void lane.resumeAll(by);
    },
  });

  for (let first = 0; first < schedules.length && killedOf(tally) < enough; first += side) {
    const batch = schedules.slice(first, first + side).map((schedule) => {
      const lane = createLane({
        schedule,
        crew: () => crew,
        clock,
        store: opened.store,
        skills,
        ...(makeRun && { makeRun }),
      });
      lanes.set(lane.person.subject, lane);
      return { index: schedule.index, lane };
    });
    isQuiet = false;
    crew.stir();
    // Somebody dies in any case, and not at an await point.
    const over = new AbortController();
    const pestered = pester(made.target, random, over.signal);
    const killed = clock.sleep(random.int(5000)).then(() => crew.kill(random.int(processes)));
    await Promise.all([killed, ...batch.map(({ lane }) => lane.play())]);
    isQuiet = true;
    crew.calm();
    if (random.chance(0.5)) for (let by = 0; by < processes; by += 1) crew.kill(by);
    over.abort();
    await pestered;
    for (const { lane } of batch) lane.heal();
    await Promise.all(batch.map(({ lane }) => settle(lane)));
    for (const { index, lane } of batch) {
      const evidence = await lane.evidence();
      await judged(tally, index, evidence);
      // One of which nothing was recorded has shown nothing.
      tally.deaths.push(evidence.steps.length > 0 ? lane.deaths : 0);
      lanes.delete(lane.person.subject);
    }
  }
  tally.crashes.set('SIGKILL', crew.kills);
  await server.close();
  return tally;

  async function settle(lane: Lane): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      const until = await lane.leasedUntil();
      if (until === undefined) break;
      await clock.sleep(until - clock.now() + 100);
      await crew.ready();
      await lane.resumeAll(round % processes);
    }
    await crew.ready();
    await lane.takeStock();
  }
}

/** The schedules over which a process died. */
export function killedOf({ deaths }: Tally): number {
  return deaths.filter((times) => times > 0).length;
}

function listed({ registry }: Lane, slug: string): Response {
  try {
    return Response.json(registry.listing(slug));
  } catch {
    return new Response(null, { status: 503 });
  }
}
