import type { Clock } from '../../src/clock.ts';
import { newId } from '../../src/ids.ts';
import type { SkillSet } from '../../src/menu/skill-set.ts';
import { untrusted } from '../../src/result/untrusted.ts';
import type { Person } from '../../src/run/service.ts';
import { isStepEnd } from '../../src/step/transitions.ts';
import type { StorePort } from '../../src/store/port.ts';
import type { createMockRun } from '../../src/testing/mock-run.ts';
import { askedOf, lastCall } from './calls.ts';
import type { Effect } from './chaos-store.ts';
import type { Crew } from './crew.ts';
import { type Evidence, type Got, recordsOf, type Sent } from './evidence.ts';
import { createNetwork, type Network } from './network.ts';
import type { Report } from './orders.ts';
import type { GatewayAct } from './perform.ts';
import { createRegistry, type Registry } from './registry.ts';
import { expiryMs, type ProcessPlan, processes, type Schedule } from './schedule.ts';

/** One schedule among those that are played at the same time over the processes of a crew. */
export interface Lane {
  readonly person: Person;
  readonly network: Network;
  readonly registry: Registry;
  /** How many processes died over something of it. */
  readonly deaths: number;
  hear(report: Report): void;
  /** Does what the schedule says, and waits for those that do not die over it. */
  play(): Promise<void>;
  resumeAll(by: number): Promise<void>;
  /** From here on nothing goes wrong. */
  heal(): void;
  /** A step without room looks after what those that died have left held. */
  takeStock(): Promise<void>;
  /** When the last lease on a step to go on with is over; `undefined` when there is no such step. */
  leasedUntil(): Promise<number | undefined>;
  evidence(): Promise<Evidence>;
}

/** What a lane is played over. */
export interface LaneOptions {
  readonly schedule: Schedule;
  readonly crew: () => Crew;
  readonly clock: Clock;
  readonly store: StorePort;
  readonly skills: SkillSet;
  /** Makes the Run; default: the mock as it is. */
  readonly makeRun?: typeof createMockRun;
}

// On the fast clock: nothing takes that long but what hangs.
const patienceMs = 300_000;
// Between a look at the registry and the submit after it, on a machine that does other things too.
const slackMs = 20_000;

export function createLane(options: LaneOptions): Lane {
  const { schedule, crew, clock, store, skills } = options;
  const now = clock.now();
  const person: Person = { subject: newId('usr', now), project: newId('prj', now) };
  const network = createNetwork(clock, person, schedule, options.makeRun);
  const sent: Sent[] = [];
  const got: Got[] = [];
  const finished: string[] = [];
  const thrown: string[] = [];
  const hung: string[] = [];
  const told: { effect: Effect; at: number }[] = [];
  const registry = createRegistry(clock);
  // All processes have one host, and it made them alike.
  const { ceiling = null, listingMaxAgeMs = null } = schedule.plans[0] ?? {};
  let trouble = schedule.store;
  let turns = 0;
  const deaths = new Set<number>();

  const patiently = async (what: string, work: Promise<number | undefined>): Promise<boolean> => {
    const over = new AbortController();
    const late = clock.sleep(patienceMs, over.signal).then(
      () => void hung.push(what),
      () => {},
    );
    const kill = await Promise.race([work, late]);
    const died = typeof kill === 'number';
    if (died) deaths.add(kill);
    over.abort();
    return died;
  };
  const order = (act: GatewayAct, change: Partial<ProcessPlan> = {}): Promise<boolean> => {
    const plan = { ...(schedule.plans[act.by] as ProcessPlan), ...change };
    const task = { act, person, plan, approvalExpiryMs: expiryMs(schedule), trouble };
    return patiently(`${act.kind} in ${act.by}`, crew().order(act.by, task));
  };

  // Who does something and sees its process die does it once more, elsewhere.
  const again = async (act: GatewayAct): Promise<void> => {
    if (await order(act)) await order({ ...act, by: (act.by + 1) % processes });
  };

  return {
    person,
    network,
    registry,
    get deaths() {
      return deaths.size;
    },
    hear(report) {
      if (report.kind === 'did') told.push(report);
      else if (report.kind === 'sent') sent.push(report.sent);
      else if (report.kind === 'finished') finished.push(report.step);
      else if (report.kind === 'done') {
        if (report.thrown !== undefined) thrown.push(report.thrown);
        const { applied } = report;
        const known = sent.findLast(
          (one) =>
            // Several may send the same: each answer is that of one of them.
            one.applied === 'unknown' &&
            one.step === applied?.step &&
            one.kind === applied.kind &&
            // Of two edits one is applied.
            one.arguments?.title === applied.arguments?.title,
        );
        if (known !== undefined && applied !== undefined) known.applied = applied.applied;
      } else if (report.kind === 'got') {
        const { step, outcome, value } = report;
        const whole = outcome.status === 'completed' ? { ...outcome, value: untrusted(value) } : outcome;
        got.push({ step, outcome: whole });
      }
    },
    async play() {
      const under: Promise<void>[] = [];
      for (const act of schedule.acts) {
        await clock.sleep(act.wait);
        if (act.kind === 'own') {
          network.setOwn(act.state);
          if (act.state === 'up') await network.stranger();
        } else if (act.kind === 'registry') registry.set(act.state);
        else if (act.kind === 'stranger') await network.stranger();
        else if (act.kind === 'kill') crew().kill(act.by);
        // Clocks that jump are for the schedules inside of one process.
        else if (act.kind !== 'jump') {
          if (act.kind === 'newTurn') turns += 1;
          under.push(again(act));
        }
      }
      await Promise.all(under);
    },
    async resumeAll(by) {
      await order({ kind: 'resumeAll', wait: 0, by }, { mode: 'ask' });
    },
    heal() {
      trouble = { slow: 0, slowMs: 0, fail: 0 };
      network.heal();
      registry.set('listed');
    },
    async takeStock() {
      if (ceiling === null) return;
      await order({ kind: 'call', wait: 0, by: 0, call: lastCall }, { mode: 'auto', ceiling: 1 });
    },
    async leasedUntil() {
      const { steps } = await recordsOf(store, person);
      const open = steps.filter(({ state }) => state !== 'pending' && !isStepEnd(state));
      return open.length === 0 ? undefined : Math.max(...open.map(({ lease }) => lease?.until ?? 0));
    },
    async evidence() {
      const records = await recordsOf(store, person);
      const jobs = await network.jobs();
      return {
        person,
        asked: askedOf(skills),
        ...records,
        jobs,
        sent,
        got,
        finished,
        hung,
        thrown,
        told: told.sort((a, b) => a.at - b.at).map(({ effect }) => effect),
        newTurns: turns,
        ceiling,
        registry:
          listingMaxAgeMs === null ? null : { history: registry.history, maxAgeMs: listingMaxAgeMs, slackMs },
      };
    },
  };
}
