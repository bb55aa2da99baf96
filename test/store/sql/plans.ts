import { expect, test } from 'vitest';
import { newId } from '../../../src/ids.ts';
import { advance } from '../../../src/step/transitions.ts';
import { ann } from '../../support/harness.ts';
import { someStep, someTime } from '../../support/step.ts';
import { appendAudit, someGrant } from '../some.ts';
import type { Place } from './places.ts';

/** No query of the store looks at all rows of a table. */
export function planSuite(fresh: () => Promise<Place>, dialect: 'sqlite' | 'postgres'): void {
  test('each is answered from an index', async () => {
    const place = await fresh();
    await place.open();
    const seen = new Map<string, readonly unknown[]>();
    place.watch((text, values) => void seen.set(text, values));
    const store = await place.open();
    seen.clear();
    const { step } = await store.steps.create(someStep({ replayKey: 'k' }));
    await store.steps.create(someStep({ replayKey: 'k' }));
    await store.steps.get(step.id);
    await store.steps.update(advance(step, { state: 'approved' }));
    await store.steps.open(ann);
    const every = { turn: 't', digest: step.digest, state: 'approved', ran: true } as const;
    for (const part of [{}, ...Object.entries(every).map(([key, value]) => ({ [key]: value })), every]) {
      await store.steps.count({ scope: ann, session: 's', ...part });
    }
    const grant = await store.grants.put(await someGrant());
    await store.grants.find(grant.key);
    await store.grants.list(ann);
    await store.grants.remove(newId('grt', someTime), ann);
    for (const status of ['1', '2']) await appendAudit(store, ann, status);
    await store.audit.list(ann, { after: 0, limit: 5 });
    for (const revision of [1, 2]) await store.allowance.put({ key: 'k', revision, spent: 0, held: {} });
    await store.allowance.get('k');
    expect(seen.size).toBeGreaterThanOrEqual(21);

    // PostgreSQL takes no index for a table that fits into a page.
    if (dialect === 'postgres') await fill(place);
    for (const [text, values] of seen) {
      const plan = await place.query(`${dialect === 'sqlite' ? 'explain query plan' : 'explain'} ${text}`, [
        ...values,
      ]);
      const lines = plan.map((row) => String(row.detail ?? row['QUERY PLAN'])).join('\n');
      expect(lines, text).not.toMatch(/\bSCAN skill_run|Seq Scan|TEMP B-TREE|Sort Key/);
      if (/^select .* where "open" = /.test(text)) expect(lines).toContain('skill_run_steps_open');
    }
  });
}

async function fill(place: Place): Promise<void> {
  const some = 'from generate_series(1, 5000) as n';
  await place.query(
    `insert into skill_run_steps select 'n' || n, 1, 'u' || n, 'p', 's' || n, 't', 'd', 'ended', 0, 1, 'r' || n, '' ${some}`,
  );
  await place.query(
    `insert into skill_run_steps select 'o' || n, 1, 'u' || n, 'p', 's' || n, 't', 'd', 'pending', 1, 0, null, '' ${some}`,
  );
  await place.query(`insert into skill_run_grants select 'k' || n, 'g' || n, 'u' || n, 'p', '' ${some}`);
  await place.query(`insert into skill_run_audit select 'u' || n % 100, 'p', n, 'h', '' ${some}`);
  await place.query(`insert into skill_run_allowance select 'k' || n, 1, '' ${some}`);
  await place.query('analyze');
}
