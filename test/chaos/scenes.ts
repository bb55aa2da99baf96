import { sameAsFirst } from './calls.ts';
import type { Random } from './random.ts';
import { type Act, type Crash, type ProcessPlan, processes } from './schedule.ts';

/** What a schedule is about. */
export type Scene =
  | 'double decision'
  | 'approve against deny'
  | 'revoke against submit'
  | 'own to pool'
  | 'crash in the hand-over'
  | 'expiry race'
  | 'replay'
  | 'cancel'
  | 'edit'
  | 'new turn'
  | 'denied again'
  | 'allowance'
  | 'registry'
  | 'anything';

/** The heart of a schedule; what it leaves open is drawn. */
export interface Made {
  readonly acts: readonly Act[];
  /** Beside those that are drawn. */
  readonly crashes?: readonly Crash[];
  readonly mode?: ProcessPlan['mode'];
  readonly own?: boolean;
  readonly pool?: boolean;
  readonly ceiling?: number | null;
  readonly listingMaxAgeMs?: number | null;
}

const soon = [0, 0, 0, 1, 200] as const;
// From the record that a job is to be taken back to the one that nothing of it runs; twice where nobody at Run
// has heard of it.
const handOver = [
  'steps.update withdrawing before',
  'steps.update withdrawing after',
  'steps.update withdrawing after',
  'run.cancel before',
  'run.cancel before',
  'run.cancel after',
  'steps.update unplaced before',
  'steps.update unplaced after',
] as const;

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
  'crash in the hand-over': (random) => ({
    own: true,
    mode: random.pick(['ask', 'auto', 'auto', 'auto']),
    crashes: everywhere(random.pick(handOver)),
    acts: [
      { kind: 'own', wait: 0, state: 'busy' },
      { ...call(random, 0), wait: 0 },
      one(random, 'approve', 0),
      { ...one(random, 'resume', 0), wait: 0 },
      // While nobody lives who began it, or somebody goes on with it: the machine begins its job.
      { kind: 'own', wait: random.pick([10_000, 10_200, 10_200, 15_200, 15_200, 60_000]), state: 'up' },
      ...several(random, 1, 3, () => one(random, 'resume', 0)),
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
  edit: (random) => ({
    mode: 'ask',
    acts: [
      call(random, 0),
      edit(random, 0),
      ...several(random, 1, 3, () => decision(random, ['edit', 'edit', 'approve', 'always', 'deny'], 0)),
      ...several(random, 1, 3, () => one(random, 'resume', 0)),
      ...several(random, 0, 1, () => call(random, 0)),
    ],
  }),
  'new turn': (random) => ({
    mode: random.pick(['ask', 'ask', 'approver']),
    acts: [
      ...several(random, 1, 2, () => call(random, random.pick([0, 2]))),
      call(random, 0),
      ...several(random, 1, 2, () => one(random, random.pick(['approve', 'approve', 'deny']), 0)),
      { kind: 'newTurn', wait: random.pick(soon), by: random.int(processes) },
      ...several(random, 1, 3, () => decision(random, ['newTurn', 'approve', 'edit', 'resume'], 0)),
      ...several(random, 0, 2, () => one(random, 'resume', random.pick([0, 2]))),
    ],
  }),
  'denied again': (random) => ({
    mode: 'ask',
    acts: [
      call(random, 0),
      one(random, 'deny', 0),
      ...sameAsFirst.flatMap((number) => [
        { ...call(random, number), wait: random.pick([0, 200, 1000]) },
        one(random, random.pick(['deny', 'deny', 'deny', 'approve', 'resume']), number),
      ]),
    ],
  }),
  allowance: (random) => ({
    ceiling: random.pick([5, 10, 20, 25, 1000]),
    mode: random.pick(['ask', 'auto', 'auto', 'auto', 'approver']),
    acts: [
      call(random, 0),
      ...several(random, 2, 5, () => call(random, random.pick([0, 1, 2, ...sameAsFirst]))),
      ...several(random, 1, 4, () =>
        one(random, random.pick(['approve', 'approve', 'always', 'cancel', 'resume']), random.int(3)),
      ),
      ...several(random, 0, 3, () => one(random, 'resume', random.int(3))),
    ],
  }),
  registry: (random) => {
    const number = random.pick([0, 0, 1]);
    const change = (wait: number): Act => {
      const state = random.pick(['retired', 'retired', 'down', 'down', 'listed'] as const);
      return { kind: 'registry', wait, state };
    };
    return {
      mode: random.pick(['ask', 'ask', 'auto']),
      listingMaxAgeMs: random.pick([0, 0, 1000, 60_000]),
      acts: [
        ...several(random, 0, 1, () => call(random, 2)),
        ...several(random, 0, 1, () => change(0)),
        { ...call(random, number), wait: random.pick([0, 1, 11_000]) },
        ...several(random, 0, 1, () => change(random.pick(soon))),
        one(random, 'approve', number),
        change(random.pick(soon)),
        { ...one(random, 'resume', number), wait: random.pick([0, 1, 1001, 11_000, 72_000]) },
        ...several(random, 1, 2, () => one(random, random.pick(['resume', 'approve']), number)),
        change(random.pick([0, 1, 12_000])),
        { ...call(random, 2), wait: random.pick([0, 11_000, 72_000]) },
        ...several(random, 0, 3, () => one(random, random.pick(['resume', 'approve']), 2)),
      ],
    };
  },
  anything: (random) => ({
    pool: random.chance(0.9),
    ceiling: random.chance(0.2) ? random.pick([10, 20, 25, 1000]) : null,
    listingMaxAgeMs: random.chance(0.2) ? random.pick([0, 1000, 300_000]) : null,
    acts: [
      call(random, 0),
      ...several(random, 3, 9, () => {
        if (random.chance(0.25)) return call(random, random.int(3));
        if (random.chance(0.1)) return decision(random, ['newTurn', 'edit'], random.pick([0, 2]));
        return one(
          random,
          random.pick(['approve', 'approve', 'always', 'deny', 'cancel', 'resume', 'resume', 'resume']),
          random.int(3),
        );
      }),
    ],
  }),
};

// Whoever is the first there, and whoever goes on after him.
function everywhere(name: string): Crash[] {
  return Array.from({ length: processes }, (_, by) => ({ by, point: 1, name }));
}

function call(random: Random, number: number): Act {
  return { kind: 'call', wait: random.pick(soon), by: random.int(processes), call: number };
}

function one(
  random: Random,
  kind: 'approve' | 'always' | 'deny' | 'cancel' | 'resume',
  number: number,
): Act & { readonly call: number } {
  const doing = { wait: random.pick(soon), by: random.int(processes), call: number };
  return kind === 'resume' ? { kind, ...doing } : { kind, ...doing };
}

function edit(random: Random, number: number): Act {
  const title = `Edited ${random.int(1000)}`;
  return { kind: 'edit', wait: random.pick(soon), by: random.int(processes), call: number, title };
}

function decision(
  random: Random,
  kinds: readonly ('edit' | 'newTurn' | 'approve' | 'always' | 'deny' | 'resume')[],
  number: number,
): Act {
  const kind = random.pick(kinds);
  if (kind === 'edit') return edit(random, number);
  if (kind === 'newTurn') return { kind, wait: random.pick(soon), by: random.int(processes) };
  return one(random, kind, number);
}

function several(random: Random, least: number, most: number, make: () => Act): Act[] {
  return Array.from({ length: least + random.int(most - least + 1) }, make);
}
