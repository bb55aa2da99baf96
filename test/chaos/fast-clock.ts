import { type Clock, systemClock } from '../../src/clock.ts';

/** How much faster than the machine's clock it goes, in every process alike. */
export const speed = 10;

/** @param epoch when it was started, on the machine's clock */
export function fastClock(epoch: number): Clock {
  return {
    now: () => Math.floor(epoch + (Date.now() - epoch) * speed),
    // Node takes no timer of more than 24 days, and none here has to be waited for that long.
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms / speed, 2_147_483_647), signal),
  };
}
