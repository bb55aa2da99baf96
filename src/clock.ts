import { SkillRunError } from './errors.ts';

/** Time, as a port: the only source of time of the whole library. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Settles after `ms` milliseconds; rejects with code `aborted` when `signal` fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's own clock. A pending sleep keeps the process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(aborted(signal));
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      if (signal?.aborted) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    }),
};

/** The error of an operation that its caller aborted. */
export function aborted(signal?: AbortSignal): SkillRunError {
  return new SkillRunError('aborted', 'Aborted by the caller.', { cause: signal?.reason });
}

/** Milliseconds since 1970 as an RFC 3339 time in UTC. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
