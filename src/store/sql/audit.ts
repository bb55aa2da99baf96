import { type AuditEntry, auditRoot } from '../audit.ts';
import type { AuditStore } from '../port.ts';
import { readEntry } from '../read.ts';
import { recordIn, type Session } from './session.ts';

export function sqlAudit({ db, run }: Session): AuditStore {
  const records = db.selectFrom('skill_run_audit').select('record');
  return {
    async head({ subject, project }) {
      const [row] = await run(
        records.where('subject', '=', subject).where('project', '=', project).orderBy('seq', 'desc').limit(1),
      );
      return recordIn(row, readEntry);
    },
    async append({ subject, project }, entry) {
      const { seq, previous, hash } = entry;
      const record = JSON.stringify(entry);
      if (!Number.isSafeInteger(seq) || (seq === 1) !== (previous === auditRoot)) return false;
      const insert = db.insertInto('skill_run_audit');
      // A chain has every number from 1 on, so its head is `previous` exactly when the entry before has that hash
      // and this number is free: the condition looks at the first, the primary key holds the second.
      const query =
        seq === 1
          ? insert.values({ subject, project, seq, hash, record })
          : insert
              .columns(['subject', 'project', 'seq', 'hash', 'record'])
              .expression(({ selectFrom, val, lit }) =>
                selectFrom('skill_run_audit')
                  .select(({ eb }) => [
                    'subject',
                    'project',
                    eb('seq', '+', lit(1)).as('seq'),
                    val(hash).as('hash'),
                    val(record).as('record'),
                  ])
                  .where('subject', '=', subject)
                  .where('project', '=', project)
                  .where('seq', '=', seq - 1)
                  .where('hash', '=', previous),
              );
      const appended = await run(
        query
          .onConflict((conflict) => conflict.columns(['subject', 'project', 'seq']).doNothing())
          .returning('seq'),
      );
      return appended.length > 0;
    },
    async list({ subject, project }, { after = 0, limit = Number.POSITIVE_INFINITY } = {}) {
      let query = records
        .where('subject', '=', subject)
        .where('project', '=', project)
        .where('seq', '>', after)
        .orderBy('seq');
      if (Number.isFinite(limit)) query = query.limit(limit);
      return (await run(query)).map((row) => recordIn(row, readEntry) as AuditEntry);
    },
  };
}
