import type { SkillSet } from '../../src/menu/skill-set.ts';
import type { Evidence } from './evidence.ts';
import { judge, type Verdict } from './judge.ts';
import { verifyChain, verifyDigests } from './judge-records.ts';
import { makeSchedule } from './schedule.ts';
import { playSchedule, type WorldOptions } from './world.ts';

/** What was found of many schedules. */
export interface Tally {
  schedules: number;
  duplicates: number;
  lost: number;
  wrong: number;
  /** How often a process died inside a call, by what it called. */
  readonly crashes: Map<string, number>;
  /** Over each schedule with processes of their own: how many of them died over something of it; 0 where it came to no step. */
  readonly deaths: number[];
  /** How often their store failed by itself. */
  unavailable: number;
  /** The first findings, in words. */
  readonly found: { index: number; verdict: Verdict }[];
}

/** Which schedules are played, over what. */
export interface TallyOptions extends Pick<WorldOptions, 'makeRun' | 'onPoint'> {
  readonly seed: number;
  readonly indices: Iterable<number>;
  readonly skills: SkillSet;
  readonly store: () => WorldOptions['store'];
}

const maxFound = 20;

/** Plays schedules one after the other, and counts what the judge finds. */
export async function tallySchedules({ seed, indices, store, ...options }: TallyOptions): Promise<Tally> {
  const tally = createTally();
  const onCrash = (what: string): void => void tally.crashes.set(what, (tally.crashes.get(what) ?? 0) + 1);
  for (const index of indices) {
    const evidence = await playSchedule(makeSchedule(seed, index), { ...options, store: store(), onCrash });
    await judged(tally, index, evidence);
  }
  return tally;
}

export function createTally(): Tally {
  return {
    schedules: 0,
    duplicates: 0,
    lost: 0,
    wrong: 0,
    crashes: new Map(),
    deaths: [],
    unavailable: 0,
    found: [],
  };
}

/** Counts what is found of one schedule. */
export async function judged(tally: Tally, index: number, evidence: Evidence): Promise<void> {
  const { duplicates, lost, wrong } = judge(evidence);
  const all = [...wrong, ...(await verifyChain(evidence)), ...(await verifyDigests(evidence))];
  tally.schedules += 1;
  tally.duplicates += duplicates.length;
  tally.lost += lost.length;
  tally.wrong += all.length;
  const isClean = duplicates.length + lost.length + all.length === 0;
  if (!isClean && tally.found.length < maxFound) {
    tally.found.push({ index, verdict: { duplicates, lost, wrong: all } });
  }
}
