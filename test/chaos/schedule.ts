import type { MockEnd } from '../../src/testing/mock-script.ts';
import { createRandom, type Random, seedOf } from './random.ts';
import type { RegistryState } from './registry.ts';
import { type Made, type Scene, scenes } from './scenes.ts';

/** How many processes share one store. */
export const processes = 4;

/** The person's own machine takes jobs, is listed and takes none, or is gone. */
export type OwnState = 'up' | 'busy' | 'down';

/** Something that somebody does, `wait` milliseconds after what was done before it. */
export type Act = { readonly wait: number } & (
  | {
      /** The model's call number `call`, the same in every process; aborted after so many milliseconds. */
      readonly kind: 'call';
      readonly by: number;
      readonly call: number;
      readonly abort?: number;
    }
  | {
      readonly kind: 'approve' | 'always' | 'deny' | 'cancel';
      readonly by: number;
      readonly call: number;
    }
  | { readonly kind: 'resume'; readonly by: number; readonly call: number }
  /** An approval with another title. */
  | { readonly kind: 'edit'; readonly by: number; readonly call: number; readonly title: string }
  | { readonly kind: 'resumeAll' | 'revoke' | 'newTurn'; readonly by: number }
  | { readonly kind: 'kill'; readonly by: number }
  /** The clock of one process jumps, forth or back. */
  | { readonly kind: 'jump'; readonly by: number; readonly ms: number }
  | { readonly kind: 'own'; readonly state: OwnState }
  | { readonly kind: 'registry'; readonly state: RegistryState }
  /** A stranger's job: Run looks again for a place for each that waits. */
  | { readonly kind: 'stranger' }
);

/** What one process is told when it starts. */
export interface ProcessPlan {
  /** Asks and returns, asks its approver, or runs what the host's policy allows. */
  readonly mode: 'ask' | 'approver' | 'auto';
  readonly answer: 'approve' | 'always' | 'deny' | 'nothing' | 'throws';
  readonly answerMs: number;
  /** What its clock is ahead of the true time. */
  readonly skewMs: number;
  /** The seconds a day that the agent may run alone; `null`: a person is present. */
  readonly ceiling: number | null;
  /** `null`: no registry is asked. */
  readonly listingMaxAgeMs: number | null;
}

/** The process dies at its await point number `point`, counted over its lives; of those of a name, if it has one. */
export interface Crash {
  readonly by: number;
  readonly point: number;
  readonly name?: string;
}

/** What goes wrong with the request number `nth`, or with that submit. */
export interface NetFault {
  readonly nth: number;
  readonly submit: boolean;
  readonly kind:
    | 'drop-before'
    | 'drop-after'
    | 'twice'
    | 'late'
    | 'garbage'
    | 'cut'
    | 500
    | 503
    | 429
    | 402
    | 404
    | 409;
}

/** The store keeps one await point in so many waiting for some time, or fails it before or after its effect. */
export interface StoreTrouble {
  readonly slow: number;
  readonly slowMs: number;
  readonly fail: number;
}

/** One run of the whole world, as plain data. */
export interface Schedule {
  readonly index: number;
  /** Seeds the order in which those who wait go on. */
  readonly order: number;
  readonly scene: Scene;
  readonly own: boolean;
  readonly pool: boolean;
  /** How the jobs end, in the order in which they are made; the last one for all that follow. */
  readonly ends: readonly MockEnd[];
  readonly plans: readonly ProcessPlan[];
  readonly acts: readonly Act[];
  readonly crashes: readonly Crash[];
  readonly faults: readonly NetFault[];
  readonly store: StoreTrouble;
  /** Whether every process dies before the quiet phase. */
  readonly blackout: boolean;
}

/** The schedule number `index` of a seed. */
export function makeSchedule(seed: number, index: number): Schedule {
  const order = seedOf(seed, index);
  const random = createRandom(order);
  const scene = random.pick(Object.keys(scenes) as Scene[]);
  const made = scenes[scene](random);
  return {
    index,
    order,
    scene,
    own: made.own ?? random.chance(0.4),
    pool: made.pool ?? true,
    ends: Array.from({ length: 1 + random.int(3) }, () => endOf(random)),
    plans: plansOf(random, made),
    acts: sprinkled(random, made.acts),
    crashes: [
      ...Array.from({ length: random.pick([0, 1, 1, 2, 3]) }, () => crashOf(random, made)),
      ...(made.crashes ?? []),
    ],
    faults: Array.from({ length: random.pick([0, 0, 1, 2, 4]) }, () => faultOf(random)),
    store: {
      slow: random.chance(0.3) ? 0.06 : 0,
      slowMs: random.pick([50, 5000, 31_000, 61_000]),
      fail: random.chance(0.15) ? 0.03 : 0,
    },
    blackout: random.chance(0.5),
  };
}

/** How long a step of it stays pending: long enough for everything, but where the expiry is what it is about. */
export function expiryMs({ scene }: Schedule): number {
  return scene === 'expiry race' ? 60_000 : 86_400_000;
}

function plansOf(random: Random, { mode, ceiling = null, listingMaxAgeMs = null }: Made): ProcessPlan[] {
  return Array.from({ length: processes }, () => ({
    mode: mode ?? random.pick(['ask', 'ask', 'ask', 'approver', 'auto']),
    answer: random.pick(['approve', 'approve', 'always', 'deny', 'nothing', 'throws']),
    answerMs: random.pick([0, 1, 1000, 59_999, 60_000]),
    skewMs: random.chance(0.15) ? random.pick([-40_000, -1000, 1000, 40_000]) : 0,
    ceiling,
    listingMaxAgeMs,
  }));
}

/** Whether all processes and Run go by one clock. */
export function clocksAgree({ plans, acts }: Schedule): boolean {
  return plans.every(({ skewMs }) => skewMs === 0) && acts.every(({ kind }) => kind !== 'jump');
}

// Most paths have between 20 and 120 points in a process.
function crashOf(random: Random, { ceiling = null }: Made): Crash {
  if (random.chance(0.3)) {
    const submits = ['run.submit before', 'run.submit after', 'run.submit after', 'steps.update after'];
    const charges = ['allowance.get before', 'allowance.put before', 'allowance.put after'];
    const name = random.pick(ceiling === null ? submits : [...submits, ...charges]);
    return { by: random.int(processes), point: 1 + random.int(3), name };
  }
  return { by: random.int(processes), point: 1 + random.int(random.pick([20, 60, 120])) };
}

const kinds = [
  'drop-before',
  'drop-after',
  'drop-after',
  'twice',
  'twice',
  'late',
  'garbage',
  'cut',
  500,
  503,
  429,
  402,
  404,
  409,
] as const;

function faultOf(random: Random): NetFault {
  const submit = random.chance(0.4);
  return { submit, nth: 1 + random.int(submit ? 3 : random.pick([5, 20])), kind: random.pick(kinds) };
}

function endOf(random: Random): MockEnd {
  const way = { placedMs: random.pick([0, 0, 5, 9990, 20_000]), runMs: random.pick([0, 0, 5, 3000, 20_000]) };
  const end = random.int(16);
  if (end === 0) return { ...way, fail: 'run.job.exit_nonzero', exitCode: 1 };
  if (end === 1) return { ...way, limit: true };
  if (end === 2) return { ...way, fail: 'run.job.worker_failed', started: false };
  if (end === 3) return { ...way, expired: true };
  if (end === 4) return { unplaceable: true };
  return { ...way, result: { n: random.int(1000) } };
}

// What nobody planned, in between.
function sprinkled(random: Random, acts: readonly Act[]): readonly Act[] {
  const all = [...acts];
  for (let n = random.pick([0, 0, 1, 2, 3]); n > 0; n -= 1) {
    all.splice(1 + random.int(all.length), 0, strayAct(random));
  }
  return all;
}

function strayAct(random: Random): Act {
  const by = random.int(processes);
  const wait = random.pick([0, 0, 100, 5000, 31_000]);
  return random.pick<Act>([
    { kind: 'jump', wait, by, ms: random.pick([-180_000, -31_000, -1, 31_000, 61_000, 180_000]) },
    { kind: 'kill', wait, by },
    { kind: 'kill', wait, by },
    { kind: 'resumeAll', wait, by },
    { kind: 'stranger', wait },
    { kind: 'own', wait, state: random.pick(['up', 'busy', 'down']) },
  ]);
}
