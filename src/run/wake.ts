import type { Clock } from '../clock.ts';

/** A wait that can be cut short. */
export interface Wake {
  /** Whether a stream is open that will ring. */
  streaming: boolean;
  /** Ends the wait that is on, or else the next one. */
  ring(): void;
  /** Settles after `ms`, or once rung. */
  wait(ms: number): Promise<void>;
}

/** For one waiter at a time. */
export function createWake(clock: Clock): Wake {
  let nap = new AbortController();
  return {
    streaming: false,
    ring: () => nap.abort(),
    async wait(ms) {
      await clock.sleep(ms, nap.signal).catch(() => {});
      nap = new AbortController();
    },
  };
}
