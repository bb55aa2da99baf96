import type { AllowanceStore } from '../port.ts';
import { readAllowance } from '../read.ts';
import { keyOf, recordIn, type Session } from './session.ts';

export function sqlAllowance({ db, run }: Session): AllowanceStore {
  return {
    async get(key) {
      const [row] = await run(
        db
          .selectFrom('skill_run_allowance')
          .select('record')
          .where('key', '=', await keyOf(key)),
      );
      return recordIn(row, readAllowance);
    },
    async put(allowance) {
      const { revision } = allowance;
      if (!Number.isSafeInteger(revision)) return false;
      const key = await keyOf(allowance.key);
      const record = JSON.stringify(allowance);
      const query =
        revision === 1
          ? db
              .insertInto('skill_run_allowance')
              .values({ key, revision, record })
              .onConflict((conflict) => conflict.column('key').doNothing())
              .returning('key')
          : db
              .updateTable('skill_run_allowance')
              .set({ revision, record })
              .where('key', '=', key)
              .where('revision', '=', revision - 1)
              .returning('key');
      return (await run<readonly unknown[]>(query)).length > 0;
    },
  };
}
