import { aborted, type Clock } from '../../src/clock.ts';

/** How much faster than the machine's clock it goes, in every process alike. */
export const speed = 10;

/** @param epoch when it was started, on the machine's clock */
export function fastClock(epoch: number): Clock {
  return {
    now: () => Math.floor(epoch + (Date.now() - epoch) * speed),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(aborted(signal));
          return;
        }
        const stop = (): void => {
          clearTimeout(timer);
          reject(aborted(signal));
        };
        // Node takes no timer of more than 24 days, and none here has to be waited for that long.
        const timer = setTimeout(
          () => {
            signal?.removeEventListener('abort', stop);
            resolve();
          },
          Math.min(ms / speed, 2_147_483_647),
        );
        signal?.addEventListener('abort', stop, { once: true });
      }),
  };
}
