import { chargeOf, withoutHolds } from '../approval/allowance.ts';
import type { StepRecord } from '../step/record.ts';
import { compareAndSet } from './compare-and-set.ts';
import type { GatewayContext } from './context.ts';

/** How the account of an agent is named in an error. */
export const accountName = "The agent's allowance";

/** Counts what an ended step spent, in place of what it held: once, however often it is asked. */
export async function settleHold(context: GatewayContext, step: StepRecord): Promise<void> {
  const { hold, end } = step;
  if (hold !== null && end !== null) await releaseHold(context, step, chargeOf(end, hold.seconds));
}

/** Counts `spent` seconds in place of what a step held. */
export async function releaseHold(
  context: GatewayContext,
  { id, hold }: StepRecord,
  spent: number,
): Promise<void> {
  if (hold === null) return;
  const { allowance } = context.store;
  await compareAndSet(accountName, async () => {
    const account = await allowance.get(hold.key);
    // What is gone was settled.
    if (account === undefined || !Object.hasOwn(account.held, id)) return true;
    const next = withoutHolds(account, new Map([[id, spent]]));
    return (await allowance.put(next)) || undefined;
  });
}
