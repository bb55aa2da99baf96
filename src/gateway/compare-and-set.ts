import { SkillRunError } from '../errors.ts';

/** How often in a row others may be faster. */
export const maxTries = 1000;

/**
 * Reads and stores anew until nobody else was in between.
 *
 * @param what is changed, as the beginning of a sentence
 * @param attempt reads, and stores what it makes of that; `undefined` when somebody else was faster
 * @throws `store_conflict`, retryable, after 1000 attempts
 */
export async function compareAndSet<T>(what: string, attempt: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const done = await attempt();
    if (done !== undefined) return done;
  }
  throw tooOften(what);
}

/** The error of what others were faster at {@link maxTries} times. */
export function tooOften(what: string): SkillRunError {
  const message = `${what} changed too often to be written. Try again.`;
  return new SkillRunError('store_conflict', message, { retryable: true });
}
