import { expect, test } from 'vitest';
import { ann } from '../../support/harness.ts';
import { someStep } from '../../support/step.ts';
import { someGrant } from '../some.ts';
import type { Place } from './places.ts';

export function migrationSuite(fresh: () => Promise<Place>): void {
  test('7 that open an empty database at once make the tables once', async () => {
    const place = await fresh();
    const [first, ...others] = await Promise.all(Array.from({ length: 7 }, () => place.open()));
    expect(await place.query('select version from skill_run_schema')).toEqual([
      expect.objectContaining({ version: 1 }),
    ]);
    const made = await first?.steps.create(someStep());
    for (const other of others) expect(await other.steps.get(made?.step.id ?? '')).toEqual(made?.step);
  });

  test('tables of a newer version are store_schema_unknown, and nothing is changed in them', async () => {
    const place = await fresh();
    await place.query('create table skill_run_schema (version integer primary key not null)');
    await place.query('insert into skill_run_schema (version) values (1)');
    await place.query('insert into skill_run_schema (version) values (2)');
    await expect(place.open()).rejects.toMatchObject({ code: 'store_schema_unknown', retryable: false });
    await expect(place.query('select * from skill_run_steps')).rejects.toThrow();
    expect(await place.query('select version from skill_run_schema')).toHaveLength(2);
  });

  test('a step of schema 1 is brought up to date; one of a newer schema, or none, is told', async () => {
    const place = await fresh();
    const store = await place.open();
    const { step } = await store.steps.create(someStep({ replayKey: 'k' }));
    const { facts, edited, hold, ...rest } = step;
    const put = (record: string) => place.query(`update skill_run_steps set record = '${record}'`);
    await put(JSON.stringify({ ...rest, schema: 1 }));
    expect(await store.steps.get(step.id)).toEqual({ ...step, facts: null, edited: null, hold: null });
    const broken: [string, string][] = [
      [JSON.stringify({ ...step, schema: 3 }), 'step_schema_unknown'],
      [JSON.stringify(step).slice(0, -9), 'step_invalid'],
      ['', 'step_invalid'],
    ];
    for (const [record, code] of broken) {
      await put(record);
      await expect(store.steps.get(step.id)).rejects.toMatchObject({ code });
      await expect(store.steps.findReplay('k')).rejects.toMatchObject({ code });
      await expect(store.steps.open(step.owner)).rejects.toMatchObject({ code });
      expect(await place.query('select record from skill_run_steps')).toEqual([
        expect.objectContaining({ record }),
      ]);
    }
  });

  test('a grant or an allowance of a newer schema is told; one of before there was a schema is read', async () => {
    const place = await fresh();
    const store = await place.open();
    const grant = await store.grants.put(await someGrant());
    const allowance = { key: 'k', revision: 1, spent: 0, held: {} };
    expect(await store.allowance.put(allowance)).toBe(true);
    expect(await store.grants.find(grant.key)).toEqual(grant);
    for (const [schema, code] of [
      [1, undefined],
      [2, 'store_schema_unknown'],
      ['1', 'store_schema_unknown'],
    ] as const) {
      await place.query(`update skill_run_grants set record = '${JSON.stringify({ ...grant, schema })}'`);
      await place.query(
        `update skill_run_allowance set record = '${JSON.stringify({ ...allowance, schema })}'`,
      );
      for (const read of [
        () => store.grants.find(grant.key),
        () => store.grants.list(ann),
        () => store.allowance.get('k'),
      ]) {
        if (code === undefined) expect(await read()).toBeDefined();
        else await expect(read()).rejects.toMatchObject({ code });
      }
    }
  });

  test('a closed store answers closed, and leaves the database open', async () => {
    const place = await fresh();
    const store = await place.open();
    const { step } = await store.steps.create(someStep());
    const last = store.steps.get(step.id);
    await store.close();
    expect(await last).toEqual(step);
    await expect(store.steps.get(step.id)).rejects.toMatchObject({ code: 'closed' });
    expect(await (await place.open()).steps.get(step.id)).toEqual(step);
  });
}
