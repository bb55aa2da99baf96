import type { SkillGateway } from '../../src/gateway/gateway.ts';
import { newId } from '../../src/ids.ts';
import type { SkillSet } from '../../src/menu/skill-set.ts';
import type { Person } from '../../src/run/service.ts';
import { isStepEnd } from '../../src/step/transitions.ts';
import type { StorePort } from '../../src/store/port.ts';
import type { createMockRun } from '../../src/testing/mock-run.ts';
import { askedOf, lastCall } from './calls.ts';
import { type Effect, storeThrough, type Through } from './chaos-store.ts';
import { drawFrom } from './draws.ts';
import { type Evidence, type Got, recordsOf, type Sent } from './evidence.ts';
import { createLife, type Life, storeTrouble } from './life.ts';
import { createNetwork, type Network, routeOf } from './network.ts';
import { type GatewayAct, perform } from './perform.ts';
import { openGateway } from './process.ts';
import { createRandom, type Random } from './random.ts';
import { createRegistry } from './registry.ts';
import {
  type Act,
  type Crash,
  clocksAgree,
  expiryMs,
  type ProcessPlan,
  processes,
  type Schedule,
} from './schedule.ts';
import { type Acts, createStage, type Stage } from './stage.ts';

/** What a schedule is played over. */
export interface WorldOptions {
  readonly store: StorePort;
  readonly skills: SkillSet;
  /** Makes the Run; default: the mock as it is. */
  readonly makeRun?: typeof createMockRun;
  /** Hears of every await point at which a process died. */
  readonly onCrash?: (what: string) => void;
  /** Hears of every await point that a process came to: when, which process, and what it is. */
  readonly onPoint?: (at: number, by: number, what: string) => void;
}

/** Somebody waits for this. */
interface Errand {
  readonly what: string;
  readonly life: Life | undefined;
}

interface Slot {
  gateway: SkillGateway | undefined;
  life: Life | undefined;
  skewMs: number;
  points: number;
  /** The points of each name. */
  readonly named: Map<string, number>;
}

const halfAnHour = 1_800_000;

/** Plays a schedule to its end and through the quiet phase after it. */
export async function playSchedule(schedule: Schedule, options: WorldOptions): Promise<Evidence> {
  using _ = drawFrom(schedule.order);
  const world = createWorld(schedule, options);
  const { stage } = world;
  for (let by = 0; by < processes; by += 1) world.start(by);
  await stage.play(world.isIdle, halfAnHour, world.acts());
  world.heal();
  // Those that live may finish what they do; nobody has died since.
  await stage.play(world.isIdle, halfAnHour);
  for (let round = 0; round < 4 && (await world.passLeases()); round += 1) {
    world.start(0);
    world.resumeAll(0);
    await stage.play(world.isIdle, halfAnHour);
  }
  world.takeStock();
  await stage.play(world.isIdle, halfAnHour);
  return await world.evidence();
}

function createWorld(schedule: Schedule, options: WorldOptions) {
  const { store, skills } = options;
  const random: Random = createRandom(schedule.order);
  const stage: Stage = createStage(random);
  const now = stage.clock.now();
  const person: Person = { subject: newId('usr', now), project: newId('prj', now) };
  const network: Network = createNetwork(stage.clock, person, schedule, options.makeRun);
  const errands = new Set<Errand>();
  const sent: Sent[] = [];
  const got: Got[] = [];
  const finished: string[] = [];
  const thrown: string[] = [];
  const effects: Effect[] = [];
  const slots: Slot[] = schedule.plans.map(({ skewMs }) => ({
    gateway: undefined,
    life: undefined,
    skewMs,
    points: 0,
    named: new Map(),
  }));
  let lives = 0;
  let quiet = false;
  let turns = 0;
  const registry = createRegistry(stage.clock);
  // All processes have one host, and it made them alike.
  const { ceiling = null, listingMaxAgeMs = null } = schedule.plans[0] ?? {};

  const errand = async (
    what: string,
    life: Life | undefined,
    work: () => Promise<unknown>,
  ): Promise<void> => {
    const one = { what, life };
    errands.add(one);
    try {
      await work();
    } catch (error) {
      thrown.push(`${what}: ${error}`);
    } finally {
      errands.delete(one);
    }
  };
  const slot = (by: number): Slot => slots[by] as Slot;

  const start = (by: number, change: Partial<ProcessPlan> = {}): void => {
    const at = slot(by);
    const crashes = schedule.crashes.filter((crash) => crash.by === by);
    lives += 1;
    const life = createLife({
      stage,
      skew: () => (quiet ? 0 : at.skewMs),
      onPoint(what) {
        at.points += 1;
        options.onPoint?.(stage.clock.now(), by, what);
        const named = (at.named.get(what) ?? 0) + 1;
        at.named.set(what, named);
        const isDue = ({ name, point }: Crash): boolean =>
          name === undefined ? point === at.points : name === what && point === named;
        if (quiet || !crashes.some(isDue)) return false;
        options.onCrash?.(what);
        restart(by);
        return true;
      },
    });
    const plan: ProcessPlan = {
      ...(schedule.plans[by] as ProcessPlan),
      ...(quiet && { mode: 'ask' }),
      ...change,
    };
    at.life = life;
    const through: Through = (what, call) => {
      const trouble = quiet ? undefined : storeTrouble(random, schedule.store);
      return life.pass(what, () => stage.flight(call), trouble);
    };
    at.gateway = openGateway({
      clock: life.clock,
      store: storeThrough(store, through, lives, (effect) => void effects.push(effect)),
      async fetch(input, init) {
        const request = new Request(input, init);
        const signal = AbortSignal.any([request.signal, life.gone]);
        return life.pass(`run.${routeOf(request)}`, () => network.send(new Request(request, { signal })));
      },
      // Its own object: what one process has heard, another has not.
      registry: {
        listing: (slug) => life.pass('registry.listing', async () => registry.listing(slug)),
      },
      point: life.point,
      skills,
      person,
      plan,
      approvalExpiryMs: expiryMs(schedule),
      onSent: (one) => void sent.push(one),
      onFinished(step) {
        if (life.alive) finished.push(step);
      },
    });
  };

  const restart = (by: number): void => {
    const downMs = random.pick([0, 10, 5000, 45_000]);
    void errand(`the restart of ${by}`, undefined, async () => {
      await stage.clock.sleep(downMs);
      if (quiet || slot(by).life?.alive) return;
      start(by);
      resumeAll(by);
    });
  };

  const act = (doing: GatewayAct): void => {
    const { life, gateway } = slot(doing.by);
    if (!life?.alive || gateway === undefined) return;
    if (doing.kind === 'newTurn') turns += 1;
    const turn = turns;
    const lived = lives;
    void errand(`${doing.kind} in ${doing.by}`, life, () =>
      perform(doing, {
        gateway,
        skills,
        person,
        stepOf: async (call) => {
          const step = await stepOf(call);
          return life.alive ? step : undefined;
        },
        sleep: (ms) => stage.clock.sleep(ms),
        onSent: (one) => void sent.push(one),
        onGot: (one) => void got.push(one),
        onPhase(phase) {
          if (life.alive)
            effects.push(phase.kind === 'called' ? { ...phase, life: lived } : { ...phase, turn });
        },
      }),
    );
  };
  const resumeAll = (by: number): void => act({ kind: 'resumeAll', wait: 0, by });

  const stepOf = async (call: number): Promise<string | undefined> => {
    for (const ms of [1, 100, 5000, 0]) {
      const made = effects.findLast((one) => one.kind === 'created' && one.step.call.id === `c${call}`);
      if (made?.kind === 'created') return made.step.id;
      if (ms > 0) await stage.clock.sleep(ms);
    }
    return undefined;
  };

  const begin = (doing: Act): void => {
    if (doing.kind === 'jump') {
      slot(doing.by).skewMs += doing.ms;
    } else if (doing.kind === 'own') {
      network.setOwn(doing.state);
      if (doing.state === 'up') void errand('a stranger', undefined, () => network.stranger());
    } else if (doing.kind === 'registry') {
      registry.set(doing.state);
    } else if (doing.kind === 'stranger') {
      void errand('a stranger', undefined, () => network.stranger());
    } else if (doing.kind === 'kill') {
      if (!slot(doing.by).life?.alive) return;
      slot(doing.by).life?.kill();
      restart(doing.by);
    } else {
      act(doing);
    }
  };

  return {
    stage,
    start,
    resumeAll,
    isIdle: (): boolean => [...errands].every(({ life }) => life !== undefined && !life.alive),
    acts(): Acts {
      const left = [...schedule.acts];
      let from = stage.clock.now();
      return {
        dueAt: () => (left[0] === undefined ? undefined : from + left[0].wait),
        begin() {
          from = stage.clock.now();
          begin(left.shift() as Act);
        },
      };
    },
    heal(): void {
      quiet = true;
      network.heal();
      registry.set('listed');
      if (schedule.blackout) for (const { life } of slots) life?.kill();
    },
    /** Waits until nobody holds a step any more. Whether there is a step to go on with. */
    async passLeases(): Promise<boolean> {
      // Not by the store's own word for what is open.
      const { steps } = await recordsOf(store, person);
      const open = steps.filter(({ state }) => state !== 'pending' && !isStepEnd(state));
      const until = Math.max(0, ...open.map(({ lease }) => lease?.until ?? 0));
      if (open.length > 0) await stage.play(() => false, Math.max(0, until - stage.clock.now()) + 1);
      return open.length > 0;
    },
    /** A step without room looks after what those that died have left held. */
    takeStock(): void {
      if (ceiling === null) return;
      start(0, { mode: 'auto', ceiling: 1 });
      act({ kind: 'call', wait: 0, by: 0, call: lastCall });
    },
    async evidence(): Promise<Evidence> {
      const records = await recordsOf(store, person);
      const slackMs = clocksAgree(schedule) ? (schedule.store.slow > 0 ? schedule.store.slowMs : 0) : null;
      const hung = [...errands].filter(({ life }) => life === undefined || life.alive);
      return {
        person,
        asked: askedOf(skills),
        ...records,
        jobs: await network.jobs(),
        sent,
        got,
        finished,
        hung: hung.map(({ what }) => what),
        thrown,
        effects,
        newTurns: turns,
        ceiling,
        registry:
          listingMaxAgeMs === null ? null : { history: registry.history, maxAgeMs: listingMaxAgeMs, slackMs },
      };
    },
  };
}
