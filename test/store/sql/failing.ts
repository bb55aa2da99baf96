import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { isSkillRunError } from '../../../src/errors.ts';
import { someRun, someStep } from '../../support/step.ts';
import type { Place } from './places.ts';

export const secret = 'an argument of the person';

/** The error, which must be ours and hold nothing of the driver's. */
export async function failing(
  promise: Promise<unknown>,
): Promise<{ code: string; retryable: boolean; message: string }> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!isSkillRunError(error)) throw new Error('It did not fail with an error of ours.');
  for (const text of [
    error.message,
    error.stack,
    JSON.stringify(error),
    inspect(error, { depth: 20, showHidden: true }),
  ]) {
    expect(text).not.toContain(secret);
  }
  expect(error.cause).toBeUndefined();
  return error;
}

/** Nothing of a record leaves with an error. */
export function failureSuite(fresh: () => Promise<Place>): void {
  test('a driver that fails is store_unavailable, without a value of the record in it', async () => {
    const made = await fresh();
    const store = await made.open();
    const run = { ...someRun, arguments: { title: secret } };
    const step = someStep({ run, why: secret, target: secret });
    await store.steps.create(step);
    // The same id twice: what the driver says of a key that is there names the key.
    expect(await failing(store.steps.create(step))).toMatchObject({
      code: 'store_unavailable',
      retryable: false,
    });
    await made.query('drop table skill_run_steps');
    expect(await failing(store.steps.create(step))).toMatchObject({
      code: 'store_unavailable',
      retryable: false,
    });
    expect(await failing(store.steps.update({ ...step, revision: 2 }))).toMatchObject({
      code: 'store_unavailable',
    });
  });
}
