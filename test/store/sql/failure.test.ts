import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { failureOf } from '../../../src/store/sql/failure.ts';
import { openSqlStore } from '../../../src/store/sql/open.ts';
import { someStep } from '../../support/step.ts';
import { failing, secret } from './failing.ts';

test('what the driver says, by whatever name, stays behind', async () => {
  const worst = Object.assign(new Error(`near "${secret}"`), {
    code: secret,
    detail: secret,
    params: [secret],
    cause: new Error(secret),
  });
  for (const error of [worst, secret, null, undefined, { message: secret }]) {
    expect(await failing(Promise.reject(failureOf(error)))).toMatchObject({ code: 'store_unavailable' });
  }
});

test.each([
  ['SQLITE_BUSY', true],
  ['SQLITE_BUSY_SNAPSHOT', true],
  ['SQLITE_LOCKED', true],
  ['SQLITE_FULL', false],
  ['SQLITE_CORRUPT', false],
  ['SQLITE_NOTADB', false],
  ['40001', true],
  ['40P01', true],
  ['08006', true],
  ['53300', true],
  ['57P01', true],
  ['57P03', true],
  ['57014', true],
  ['55P03', true],
  ['57P04', false],
  ['23505', false],
  ['42P01', false],
  ['28P01', false],
  ['ECONNREFUSED', true],
  ['ECONNRESET', true],
  ['40001_NOT_A_STATE', false],
])('%s is retryable: %s, and is named', (code, retryable) => {
  const error = failureOf(Object.assign(new Error(secret), { code }));
  expect(error).toMatchObject({ code: 'store_unavailable', retryable });
  expect(error.message).toContain(`(${code})`);
});

test('an extended code of SQLite is known by its last byte, a lost connection of pg by what it is', () => {
  const of = (message: string, more: object) => failureOf(Object.assign(new Error(message), more)).retryable;
  expect(of('', { code: 'UNKNOWN_SQLITE_ERROR_517', rawCode: 517 })).toBe(true);
  expect(of('', { code: 'UNKNOWN_SQLITE_ERROR_3091', rawCode: 3091 })).toBe(false);
  expect(of('Connection terminated unexpectedly', {})).toBe(true);
  expect(of('timeout exceeded when trying to connect', {})).toBe(true);
  expect(of('something else', {})).toBe(false);
});

test('a database that another process holds is retryable, and works again afterwards', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'openvibe-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [mine, other] = [new Database(join(folder, 'store.db')), new Database(join(folder, 'store.db'))];
  const store = await openSqlStore({ sqlite: mine, busyTimeoutMs: 0 });
  other.exec('begin immediate');
  const step = someStep({ why: secret });
  expect(await failing(store.steps.create(step))).toMatchObject({
    code: 'store_unavailable',
    retryable: true,
  });
  other.exec('rollback');
  expect((await store.steps.create(step)).created).toBe(true);
  mine.close();
  other.close();
});

test('a server that is not there is retryable', async () => {
  const pool = new pg.Pool({ host: '127.0.0.1', port: 1, password: secret });
  expect(await failing(openSqlStore({ postgres: pool }))).toMatchObject({ retryable: true });
  await pool.end();
});
