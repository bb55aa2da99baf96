import { SkillRunError } from '../../errors.ts';
import { isId } from '../../ids.ts';
import type { Grant } from '../grant.ts';
import type { GrantStore } from '../port.ts';
import { readGrant } from '../read.ts';
import { recordIn, type Session } from './session.ts';

const maxTries = 100;

export function sqlGrants({ db, run }: Session): GrantStore {
  const records = db.selectFrom('skill_run_grants').select('record');
  const find: GrantStore['find'] = async (key) => {
    const [row] = await run(records.where('key', '=', key));
    return recordIn(row, readGrant);
  };
  return {
    async put(grant) {
      const { subject, project } = grant.scope;
      const insert = db
        .insertInto('skill_run_grants')
        .values({ key: grant.key, id: grant.id, subject, project, record: JSON.stringify(grant) })
        .onConflict((conflict) => conflict.column('key').doNothing())
        .returning('record');
      // The one in the way may be revoked before it is read: then the key is free again.
      for (let tries = 0; tries < maxTries; tries += 1) {
        const [made] = await run(insert);
        const stored = recordIn(made, readGrant) ?? (await find(grant.key));
        if (stored !== undefined) return stored;
      }
      throw new SkillRunError('store_conflict', 'The grant was made and revoked too often to be stored.', {
        retryable: true,
      });
    },
    find,
    async list({ subject, project }) {
      const rows = await run(
        records.where('subject', '=', subject).where('project', '=', project).orderBy('id'),
      );
      return rows.map((row) => recordIn(row, readGrant) as Grant);
    },
    async remove(id, { subject, project }) {
      if (!isId('grt', id)) return false;
      const removed = await run(
        db
          .deleteFrom('skill_run_grants')
          .where('subject', '=', subject)
          .where('project', '=', project)
          .where('id', '=', id)
          .returning('id'),
      );
      return removed.length > 0;
    },
  };
}
