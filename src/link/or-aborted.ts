import { aborted } from '../clock.ts';

/**
 * What `work` settles with. Rejects with `aborted` as soon as the signal fires, whether or not the work heeds
 * it: nobody waits for one that does not.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop = (): void => undefined;
  const cut = new Promise<never>((_, reject) => {
    stop = () => reject(aborted(signal));
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, cut]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
