import { SkillRunError } from '../errors.ts';

const maxTries = 1000;

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
  throw new SkillRunError('store_conflict', `${what} changed too often to be written. Try again.`, {
    retryable: true,
  });
}
