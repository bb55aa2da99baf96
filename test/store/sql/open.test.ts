import { EventEmitter } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { expect, onTestFinished, test } from 'vitest';
import { openSqlStore } from '../../../src/store/sql/open.ts';
import { ann } from '../../support/harness.ts';
import { someStep } from '../../support/step.ts';

function somePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'openvibe-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'store.db');
}

test('what is no database, or has no fitting timeout, is option_invalid', async () => {
  const sqlite = new Database(':memory:');
  const postgres = { connect: () => Promise.reject(new Error('asked')) };
  const wrong: unknown[] = [
    {},
    { sqlite, postgres },
    { sqlite: {} },
    { sqlite: 'store.db' },
    { postgres: 'postgres://host' },
    { sqlite: null },
    ...[-1, 0.5, Number.NaN, 60_001, '5'].map((busyTimeoutMs) => ({ sqlite, busyTimeoutMs })),
  ];
  for (const options of wrong) {
    await expect(openSqlStore(options as never)).rejects.toMatchObject({ code: 'option_invalid' });
  }
});

test('a connection that breaks between two queries fails the next one, and not the process', async () => {
  const heard: boolean[] = [];
  const left: number[] = [];
  const connection = Object.assign(new EventEmitter(), {
    async query() {
      // Throws where nobody listens.
      heard.push(connection.emit('error', new Error('terminating connection due to administrator command')));
      throw Object.assign(new Error('terminated'), { code: '57P01' });
    },
    release: () => void left.push(connection.listenerCount('error')),
  });
  const opened = openSqlStore({ postgres: { connect: async () => connection } });
  await expect(opened).rejects.toMatchObject({ code: 'store_unavailable', retryable: true });
  expect(heard).toEqual([true, true]);
  expect(left).toEqual([0]);
});

test('SQLite gets a write-ahead log, and is never left less safe than FULL', async () => {
  const one = async (name: string, set?: string) => {
    const database = new Database(somePath());
    if (set !== undefined) database.exec(set);
    await openSqlStore({ sqlite: database, busyTimeoutMs: 1234 });
    const [row] = database.prepare(`pragma ${name}`).all() as Record<string, unknown>[];
    database.close();
    return Object.values(row ?? {})[0];
  };
  expect(await one('journal_mode')).toBe('wal');
  expect(await one('busy_timeout')).toBe(1234);
  expect(await one('synchronous', 'pragma synchronous = off')).toBe(2);
  expect(await one('synchronous', 'pragma synchronous = normal')).toBe(2);
  expect(await one('synchronous', 'pragma synchronous = extra')).toBe(3);
});

test.each([
  ['wal', 'begin immediate'],
  ['delete', 'begin exclusive'],
])(
  'C61: what is written after the database was busy is committed, and keeps nobody waiting: %s',
  async (journal, begin) => {
    const path = somePath();
    const database = new Database(path);
    const store = await openSqlStore({ sqlite: database, busyTimeoutMs: 0 });
    database.exec(`pragma journal_mode = ${journal}`);
    const other = new Database(path);
    const seenByOther = () => other.prepare('select revision from skill_run_steps').all([]);
    const busy = { code: 'store_unavailable', retryable: true };
    const step = someStep();
    await store.steps.create(step);
    other.exec(begin);
    await expect(store.steps.update({ ...step, revision: 2 })).rejects.toMatchObject(busy);
    if (journal === 'delete') await expect(store.steps.get(step.id)).rejects.toMatchObject(busy);
    other.exec('commit');
    expect(await store.steps.get(step.id)).toMatchObject({ revision: 1 });
    expect(await store.steps.update({ ...step, revision: 2 })).toBe(true);
    expect(seenByOther()).toEqual([{ revision: 2 }]);
    other.exec('update skill_run_steps set revision = 3');
    expect(await store.steps.update({ ...step, revision: 3 })).toBe(false);
  },
);

test('inside of a transaction of the host’s the store fails, and undoes nothing of it', async () => {
  const database = new Database(somePath());
  const store = await openSqlStore({ sqlite: database });
  database.exec('create table hosts (id integer); begin; insert into hosts values (1)');
  for (const call of [() => store.steps.create(someStep()), () => store.steps.get(someStep().id)]) {
    await expect(call()).rejects.toMatchObject({ code: 'store_unavailable' });
  }
  database.exec('commit');
  expect(database.prepare('select id from hosts').all([])).toEqual([{ id: 1 }]);
  expect((await store.steps.create(someStep())).created).toBe(true);
});

test('C61: a file that is no database is store_unavailable, and is not overwritten', async () => {
  const path = somePath();
  const bytes = Buffer.from('{"grants":[]} '.repeat(2000));
  writeFileSync(path, bytes);
  const opened = openSqlStore({ sqlite: new Database(path) });
  await expect(opened).rejects.toMatchObject({ code: 'store_unavailable', retryable: false });
  expect(readFileSync(path).equals(bytes)).toBe(true);
});

test('C61: a database that is broken inside is store_unavailable where it is broken, and is not mended', async () => {
  const path = somePath();
  const whole = new Database(path);
  const store = await openSqlStore({ sqlite: whole });
  const steps = Array.from({ length: 200 }, () => someStep());
  for (const step of steps) await store.steps.create(step);
  whole.prepare('pragma wal_checkpoint(truncate)').all();
  whole.close();
  const bytes = readFileSync(path);
  // The tables' names stay readable; everything behind them is noise.
  const broken = Buffer.concat([bytes.subarray(0, 16_384), Buffer.alloc(bytes.length - 16_384, 0xa5)]);
  writeFileSync(path, broken);
  const database = new Database(path);
  onTestFinished(() => void database.close());
  const again = await openSqlStore({ sqlite: database });
  for (const ask of [
    () => again.steps.get(steps[150]?.id ?? ''),
    () => again.steps.open(ann),
    () => again.steps.create(someStep()),
  ]) {
    await expect(ask()).rejects.toMatchObject({ code: 'store_unavailable', retryable: false });
  }
  expect(readFileSync(path).equals(broken)).toBe(true);
});
