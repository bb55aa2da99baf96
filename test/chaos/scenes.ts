import type { Random } from './random.ts';
import { type Act, type ProcessPlan, processes } from './schedule.ts';

/** What a schedule is about. */
export type Scene =
  | 'double decision'
  | 'approve against deny'
  | 'revoke against submit'
  | 'own to pool'
  | 'expiry race'
  | 'replay'
  | 'cancel'
  | 'anything';

/** The heart of a schedule; what it leaves open is drawn. */
export interface Made {
  readonly acts: readonly Act[];
  readonly mode?: ProcessPlan['mode'];
  readonly own?: boolean;
  readonly pool?: boolean;
}

const soon = [0, 0, 0, 1, 200] as const;

/** How each scene is made. */
export const scenes: Readonly<Record<Scene, (random: Random) => Made>> = {
  'double decision': (random) => ({
    mode: 'ask',
    acts: [
      call(random, 0),
      ...several(random, 2, 4, () => one(random, random.pick(['approve', 'approve', 'always']), 0)),
      ...several(random, 1, 3, () => one(random, 'resume', 0)),
    ],
  }),
  'approve against deny': (random) => ({
    mode: 'ask',
    acts: [
      call(random, 0),
      ...several(random, 2, 4, () => one(random, random.pick(['approve', 'deny']), 0)),
      ...several(random, 1, 3, () => one(random, random.pick(['resume', 'resume', 'approve', 'deny']), 0)),
    ],
  }),
  'revoke against submit': (random) => ({
    mode: 'ask',
    acts: [
      call(random, 0),
      one(random, 'always', 0),
      { ...call(random, 2), wait: random.pick([0, 1000]) },
      { kind: 'revoke', wait: random.pick(soon), by: random.int(processes) },
      ...several(random, 1, 3, () => one(random, random.pick(['resume', 'approve', 'deny']), 2)),
      ...several(random, 0, 2, () => one(random, 'resume', 0)),
    ],
  }),
  'own to pool': (random) => ({
    own: true,
    mode: random.pick(['ask', 'auto']),
    acts: [
      { kind: 'own', wait: 0, state: 'busy' },
      call(random, 0),
      one(random, 'approve', 0),
      { ...one(random, 'resume', 0), wait: 0 },
      // When the wait for a place is over, or so.
      { kind: 'own', wait: random.pick([5000, 9999, 10_000, 10_000, 10_000, 10_001]), state: 'up' },
      ...several(random, 0, 3, () => one(random, random.pick(['resume', 'cancel']), 0)),
    ],
  }),
  'expiry race': (random) => ({
    mode: random.pick(['ask', 'ask', 'approver']),
    acts: [
      call(random, 0),
      { ...one(random, 'approve', 0), wait: random.pick([59_990, 59_999, 60_000, 60_001]) },
      ...several(random, 1, 3, () => one(random, random.pick(['resume', 'resume', 'deny', 'approve']), 0)),
    ],
  }),
  replay: (random) => ({
    mode: random.pick(['ask', 'auto', 'auto', 'approver']),
    acts: [
      ...several(random, 2, 5, () => call(random, 0)),
      ...several(random, 1, 2, () => one(random, 'approve', 0)),
      ...several(random, 1, 3, () => call(random, random.int(2))),
    ],
  }),
  cancel: (random) => ({
    acts: [
      { ...call(random, 0), ...(random.chance(0.5) && { abort: random.pick([0, 1, 300, 11_000]) }) },
      one(random, 'approve', 0),
      ...several(random, 1, 2, () => one(random, 'resume', 0)),
      { ...one(random, 'cancel', 0), wait: random.pick([0, 0, 1, 250, 3000]) },
      ...several(random, 0, 2, () => one(random, random.pick(['resume', 'cancel']), 0)),
    ],
  }),
  anything: (random) => ({
    pool: random.chance(0.9),
    acts: [
      call(random, 0),
      ...several(random, 3, 9, () => {
        if (random.chance(0.25)) return call(random, random.int(3));
        return one(
          random,
          random.pick(['approve', 'approve', 'always', 'deny', 'cancel', 'resume', 'resume', 'resume']),
          random.int(3),
        );
      }),
    ],
  }),
};

function call(random: Random, number: number): Act {
  return { kind: 'call', wait: random.pick(soon), by: random.int(processes), call: number };
}

function one(
  random: Random,
  kind: 'approve' | 'always' | 'deny' | 'cancel' | 'resume',
  number: number,
): Act & { readonly call: number } {
  return { kind, wait: random.pick(soon), by: random.int(processes), call: number };
}

function several(random: Random, least: number, most: number, make: () => Act): Act[] {
  return Array.from({ length: least + random.int(most - least + 1) }, make);
}
