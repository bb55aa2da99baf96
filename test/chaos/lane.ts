import type { Clock } from '../../src/clock.ts';
import { newId } from '../../src/ids.ts';
import type { SkillSet } from '../../src/menu/skill-set.ts';
import { untrusted } from '../../src/result/untrusted.ts';
import type { Person } from '../../src/run/service.ts';
import { isStepEnd } from '../../src/step/transitions.ts';
import type { StorePort } from '../../src/store/port.ts';
import { askedOf } from './calls.ts';
import type { Crew } from './crew.ts';
import { type Evidence, type Got, recordsOf, type Sent } from './evidence.ts';
import { createNetwork, type Network } from './network.ts';
import type { Report } from './orders.ts';
import type { GatewayAct } from './perform.ts';
import { expiryMs, type Schedule } from './schedule.ts';

/** One schedule among those that are played at the same time over the processes of a crew. */
export interface Lane {
  readonly person: Person;
  readonly network: Network;
  hear(report: Report): void;
  /** Does what the schedule says, and waits for those that do not die over it. */
  play(): Promise<void>;
  resumeAll(by: number): Promise<void>;
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
}

// On the fast clock: nothing takes that long but what hangs.
const patienceMs = 300_000;

export function createLane({ schedule, crew, clock, store, skills }: LaneOptions): Lane {
  const now = clock.now();
  const person: Person = { subject: newId('usr', now), project: newId('prj', now) };
  const network = createNetwork(clock, person, schedule);
  const sent: Sent[] = [];
  const got: Got[] = [];
  const finished: string[] = [];
  const thrown: string[] = [];
  const hung: string[] = [];
  let nodesChanged = false;

  const patiently = async (what: string, work: Promise<unknown>): Promise<void> => {
    const over = new AbortController();
    const late = clock.sleep(patienceMs, over.signal).then(
      () => void hung.push(what),
      () => {},
    );
    await Promise.race([work, late]);
    over.abort();
  };
  const order = (act: GatewayAct, mode?: 'ask'): Promise<void> => {
    const plan = schedule.plans[act.by] ?? { mode: 'ask', answer: 'nothing', answerMs: 0, skewMs: 0 };
    const task = { act, person, plan: mode ? { ...plan, mode } : plan, approvalExpiryMs: expiryMs(schedule) };
    return patiently(`${act.kind} in ${act.by}`, crew().order(act.by, task));
  };

  return {
    person,
    network,
    hear(report) {
      if (report.kind === 'sent') sent.push(report.sent);
      else if (report.kind === 'finished') finished.push(report.step);
      else if (report.kind === 'done') {
        if (report.thrown !== undefined) thrown.push(report.thrown);
        const { applied } = report;
        const known = sent.findLast(({ step, kind }) => step === applied?.step && kind === applied.kind);
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
          nodesChanged ||= act.state === 'down';
          network.setOwn(act.state);
          if (act.state === 'up') await network.stranger();
        } else if (act.kind === 'stranger') await network.stranger();
        else if (act.kind === 'kill') crew().kill(act.by);
        // Clocks that jump are for the schedules inside of one process.
        else if (act.kind !== 'jump') under.push(order(act));
      }
      await Promise.all(under);
    },
    resumeAll: (by) => order({ kind: 'resumeAll', wait: 0, by }, 'ask'),
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
        nodesChanged,
      };
    },
  };
}
