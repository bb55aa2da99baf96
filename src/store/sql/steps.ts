import { sql } from 'kysely';
import { isId } from '../../ids.ts';
import { mayHaveRun } from '../../step/end.ts';
import { readStep } from '../../step/read.ts';
import type { StepRecord } from '../../step/record.ts';
import { isStepEnd } from '../../step/transitions.ts';
import type { StepStore } from '../port.ts';
import { keyOf, recordIn, type Session } from './session.ts';
import type { StepRow } from './tables.ts';

export function sqlSteps({ db, run }: Session): StepStore {
  const records = db.selectFrom('skill_run_steps').select('record');
  const findReplay: StepStore['findReplay'] = async (replayKey) => {
    const [row] = await run(records.where('replay_key', '=', replayKey));
    return recordIn(row, readStep);
  };
  return {
    async create(step) {
      const row = await rowOf(step);
      const [made] = await run(
        db
          .insertInto('skill_run_steps')
          .values(row)
          .onConflict((conflict) => conflict.column('replay_key').doNothing())
          .returning('record'),
      );
      if (made !== undefined) return { created: true, step: recordIn(made, readStep) as StepRecord };
      // Steps are never deleted: the one in the way is there.
      return { created: false, step: (await findReplay(step.replayKey as string)) as StepRecord };
    },
    async get(id) {
      // An id comes from outside, and not every text is one that a database takes.
      if (!isId('stp', id)) return undefined;
      const [row] = await run(records.where('id', '=', id));
      return recordIn(row, readStep);
    },
    findReplay,
    async update(step) {
      if (!Number.isSafeInteger(step.revision)) return false;
      const { id, ...row } = await rowOf(step);
      const updated = await run(
        db
          .updateTable('skill_run_steps')
          .set(row)
          .where('id', '=', id)
          .where('revision', '=', step.revision - 1)
          .returning('id'),
      );
      return updated.length > 0;
    },
    async open({ subject, project }) {
      const rows = await run(
        records
          // The condition of the partial index, as a literal: of a parameter the planner would not know that it fits.
          .where('open', '=', sql.lit(1))
          .where('subject', '=', subject)
          .where('project', '=', project)
          // Ids sort by the time at which they were made.
          .orderBy('id'),
      );
      return rows.map((row) => recordIn(row, readStep) as StepRecord);
    },
    async count({ scope, session, turn, digest, state, ran }) {
      let query = db
        .selectFrom('skill_run_steps')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('session_key', '=', await keyOf(scope.subject, scope.project, session));
      if (turn !== undefined) query = query.where('turn_key', '=', await keyOf(turn));
      if (digest !== undefined) query = query.where('digest', '=', digest);
      if (state !== undefined) query = query.where('state', '=', state);
      if (ran !== undefined) query = query.where('ran', '=', 1);
      const [row] = await run(query);
      return Number(row?.count);
    },
  };
}

async function rowOf(step: StepRecord): Promise<StepRow> {
  const { subject, project } = step.owner;
  const record = JSON.stringify(step);
  // A record that nobody reads again would stand in the way of every other step of this person.
  readStep(JSON.parse(record));
  return {
    id: step.id,
    revision: step.revision,
    subject,
    project,
    session_key: await keyOf(subject, project, step.session),
    turn_key: await keyOf(step.turn),
    digest: step.digest,
    state: step.state,
    open: isStepEnd(step.state) ? 0 : 1,
    ran: mayHaveRun(step.end) ? 1 : 0,
    replay_key: step.replayKey,
    record,
  };
}
