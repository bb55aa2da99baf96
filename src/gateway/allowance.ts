import { chargeOf, withoutHolds } from '../approval/allowance.ts';
import type { StepRecord } from '../step/record.ts';
import { compareAndSet } from './compare-and-set.ts';
import type { GatewayContext } from './context.ts';

/** How the account of an agent is named in an error. */
export const accountName = "The agent's allowance";

/** Counts what an ended step spent, in place of what it held: once, however often it is asked. */
export async function settleHold(context: GatewayContext, { id, hold, end }: StepRecord): Promise<void> {
  if (hold === null || end === null) return;
  const { allowance } = context.store;
  await compareAndSet(accountName, async () => {
    const account = await allowance.get(hold.key);
    // What is gone was settled.
    if (account === undefined || !Object.hasOwn(account.held, id)) return true;
    const next = withoutHolds(account, new Map([[id, chargeOf(end, hold.seconds)]]));
    return (await allowance.put(next)) || undefined;
  });
}
