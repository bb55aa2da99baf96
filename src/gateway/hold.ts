import {
  allowanceKeyOf,
  chargeOf,
  periodOf,
  usedOf,
  withHold,
  withoutHolds,
  worstCaseOf,
} from '../approval/allowance.ts';
import { isoTime } from '../clock.ts';
import type { StepRecord } from '../step/record.ts';
import type { AllowanceRecord } from '../store/allowance.ts';
import { accountName } from './allowance.ts';
import { compareAndSet } from './compare-and-set.ts';
import type { GatewayContext } from './context.ts';
import { expireIfDue } from './decide.ts';
import { isUnsent } from './move.ts';
import { load, save } from './record.ts';

/** What came of holding. */
export interface Held {
  readonly step: StepRecord;
  /** Where there is no room for it: in our own words, with the ceiling and when it renews. */
  readonly exhausted?: string;
}

/**
 * Holds a step's worst case in its agent's allowance, before anything of the step is submitted; once, however
 * often it is asked. With a person present, or without an allowance, nothing is held.
 *
 * The step's record says first what it holds and where, and its end alone says what it spent: so a crash at any
 * point loses no hold for good and counts none twice.
 *
 * @returns `undefined` when another process has changed the step: look again
 */
export async function holdAllowance(context: GatewayContext, step: StepRecord): Promise<Held | undefined> {
  const { allowance, store, clock } = context;
  if (allowance === undefined || !isAlone(context, step)) return { step };
  const { seconds: ceiling, period } = allowance;
  const key = step.hold?.key ?? allowanceKeyOf(step.owner, period, clock.now());
  const seconds = step.hold?.seconds ?? worstCaseOf(step);
  const noted = step.hold === null ? await save(context, step, { hold: { key, seconds } }) : step;
  if (noted === undefined) return undefined;
  const held = await compareAndSet<Held | 'changed'>(accountName, async () => {
    const account = await store.allowance.get(key);
    if (account !== undefined && Object.hasOwn(account.held, step.id)) return { step: noted };
    // Looked at after the account: had another process held, run and settled it since, the put would not fit.
    if ((await load(context, step.id))?.revision !== noted.revision) return 'changed';
    const next = withHold(account, key, step.id, seconds, ceiling);
    if (next !== undefined) return (await store.allowance.put(next)) ? { step: noted } : undefined;
    if (account !== undefined && (await sweep(context, account))) return undefined;
    const renews = isoTime(periodOf(period, clock.now()).renews);
    const exhausted =
      `The agent's allowance is ${ceiling} seconds per ${period} while it works alone: ${usedOf(account)} are ` +
      `used or held, and this run may take ${seconds}. It renews at ${renews}. Nothing ran.`;
    return { step: noted, exhausted };
  });
  return held === 'changed' ? undefined : held;
}

// As it was when it was decided: a gateway that only goes on with it may be one with a person present.
function isAlone({ alone }: GatewayContext, { facts, decision }: StepRecord): boolean {
  return alone || (facts?.alone === true && decision?.via !== 'person');
}

// Whether processes that died had left anything held: of steps that ended, or that nobody can submit any more.
async function sweep(context: GatewayContext, account: AllowanceRecord): Promise<boolean> {
  const spent = new Map<string, number>();
  let expired = false;
  for (const [id, seconds] of Object.entries(account.held)) {
    const step = await load(context, id);
    if (step === undefined) spent.set(id, seconds);
    else if (step.end !== null) spent.set(id, chargeOf(step.end, seconds));
    // It was asked again, and what it held no longer counts.
    else if (step.hold === null) spent.set(id, 0);
    else if (isUnsent(step)) expired = (await expireIfDue(context, step)) || expired;
  }
  if (spent.size === 0) return expired;
  await context.store.allowance.put(withoutHolds(account, spent));
  return true;
}
