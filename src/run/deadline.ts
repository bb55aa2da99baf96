import { aborted, type Clock } from '../clock.ts';

/** How {@link withDeadline} is bounded. */
export interface Deadline {
  readonly clock: Clock;
  /** Milliseconds from now. */
  readonly ms: number;
  readonly signal?: AbortSignal | undefined;
  /** The error of a work that took longer. */
  readonly late: () => Error;
}

/**
 * Does `work` in at most `ms`, whether or not it heeds the signal it is given; that signal is its own,
 * so that no attempt inherits the spent timeout of another. Rejects with code `aborted` when the
 * caller's signal fires.
 */
export async function withDeadline<T>(
  { clock, ms, signal, late }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw aborted(signal);
  const stop = new AbortController();
  const timer = new AbortController();
  let onAbort = (): void => {};
  const cut = new Promise<never>((_, reject) => {
    onAbort = () => reject(aborted(signal));
    signal?.addEventListener('abort', onAbort, { once: true });
    clock.sleep(ms, timer.signal).then(
      () => reject(late()),
      () => {},
    );
  });
  try {
    return await Promise.race([work(stop.signal), cut]);
  } catch (error) {
    stop.abort();
    throw error;
  } finally {
    timer.abort();
    signal?.removeEventListener('abort', onAbort);
  }
}
