import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'libsql';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { allowanceKeyOf } from '../../../src/approval/allowance.ts';
import { randomHex } from '../../../src/ids.ts';
import { type AuditEntry, auditRoot } from '../../../src/store/audit.ts';
import type { StorePort } from '../../../src/store/port.ts';
import { openSqlStore } from '../../../src/store/sql/open.ts';
import { verifyAudit } from '../../../src/store/verify-audit.ts';
import { createMockRun } from '../../../src/testing/mock-run.ts';
import { agentId, ann } from '../../support/harness.ts';
import { someRun, someStep } from '../../support/step.ts';
import { someFacts, someGrant } from '../some.ts';
import { server } from './places.ts';

/** A database that other processes can open too. */
interface Shared {
  readonly target: object;
  open(): Promise<StorePort>;
}

async function sqlite(): Promise<Shared & { path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'openvibe-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'store.db');
  return { path, target: { sqlite: path }, open: () => openSqlStore({ sqlite: new Database(path) }) };
}

async function postgres(): Promise<Shared> {
  const schema = `test_${randomHex(8)}`;
  const pool = new pg.Pool({ connectionString: server, options: `-c search_path=${schema}` });
  await pool.query(`create schema ${schema}`);
  onTestFinished(async () => {
    await pool.query(`drop schema ${schema} cascade`);
    await pool.end();
  });
  return { target: { postgres: server, schema }, open: () => openSqlStore({ postgres: pool }) };
}

interface Worker {
  readonly process: ChildProcess;
  readonly lines: AsyncIterator<string>;
}

async function start(task: string, shared: Shared, argument: object): Promise<Worker> {
  const program = new URL('./worker.mjs', import.meta.url).pathname;
  const args = [program, task, JSON.stringify(shared.target), JSON.stringify(argument)];
  const process_ = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void process_.kill('SIGKILL'));
  const lines = createInterface({ input: process_.stdout })[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe('"ready"');
  return { process: process_, lines };
}

/** Starts them all, lets them go at once, and answers what each said. */
async function together(task: string, shared: Shared, list: readonly object[]): Promise<unknown[]> {
  const workers = await Promise.all(list.map((argument) => start(task, shared, argument)));
  for (const worker of workers) worker.process.stdin?.write('go\n');
  return Promise.all(workers.map(async ({ lines }) => JSON.parse((await lines.next()).value ?? 'null')));
}

/** Every entry holds the hash of the one before it. */
async function expectChain(store: StorePort, length: number): Promise<void> {
  const chain = await store.audit.list(ann);
  expect(chain.map(({ seq }) => seq)).toEqual(Array.from({ length }, (_, n) => n + 1));
  let previous = auditRoot;
  for (const entry of chain) {
    expect(entry.previous).toBe(previous);
    previous = entry.hash;
  }
}

describe.each([
  ['SQLite', sqlite as () => Promise<Shared>],
  ...(server === undefined ? [] : [['PostgreSQL', postgres] as const]),
] as const)('several processes over one %s', (_, make) => {
  test('C61: 7 processes that each make 20 grants and revoke every second: all the others are there', async () => {
    const shared = await make();
    const grantsOf = (process_: number) =>
      Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          someGrant(someStep({ run: { ...someRun, tool: `tool-${process_}-${n}` } })),
        ),
      );
    const lists = await Promise.all(
      Array.from({ length: 7 }, async (_, n) => ({ grants: await grantsOf(n) })),
    );
    expect(await together('grants', shared, lists)).toEqual(Array(7).fill('done'));
    const left = lists.flatMap(({ grants }) => grants.filter((_, at) => at % 2 === 0)).map(({ id }) => id);
    const stored = await (await shared.open()).grants.list(ann);
    expect(stored.map(({ id }) => id)).toEqual(left.sort());
  });

  test('4 processes that append to one audit leave one unbroken chain', async () => {
    const shared = await make();
    const names = ['a', 'b', 'c', 'd'];
    const each = { scope: ann, facts: someFacts, count: 25 };
    expect(
      await together(
        'audit',
        shared,
        names.map((name) => ({ ...each, name })),
      ),
    ).toEqual(Array(4).fill('done'));
    const store = await shared.open();
    await expectChain(store, 100);
    expect(new Set((await store.audit.list(ann)).map(({ status }) => status)).size).toBe(100);
  });

  test('C17, C18: of 20 approvals at once in 4 processes, one is stored', async () => {
    const shared = await make();
    const store = await shared.open();
    const { step } = await store.steps.create(someStep());
    const won = await together('approve', shared, Array(4).fill({ step, count: 5 }));
    expect((won as number[]).reduce((sum, one) => sum + one)).toBe(1);
    expect(await store.steps.get(step.id)).toMatchObject({ state: 'approved', revision: 2 });
  });

  test('of 52 calls at once in 4 processes of one agent, no more run than its allowance holds', async () => {
    const shared = await make();
    const mock = createMockRun({ otherwise: () => ({ result: 1, wallMs: 10_000 }) });
    onTestFinished(() => mock.close());
    const { url } = await mock.listen();
    // Each run holds 10 s and is metered 10 s: 7 fit, and what is left over is too little for one more.
    const each = { person: ann, agent: agentId, url, seconds: 79, calls: 13 };
    const names = ['a', 'b', 'c', 'd'];
    const said = await together(
      'spend',
      shared,
      names.map((name) => ({ ...each, name })),
    );
    const ends = (said as string[][]).flat().sort();
    expect(ends).toEqual([...Array(45).fill('allowance_exhausted'), ...Array(7).fill('completed')]);
    expect(mock.jobs).toBe(7);
    const store = await shared.open();
    const key = allowanceKeyOf({ ...ann, agent: agentId }, 'month', Date.now());
    expect(await store.allowance.get(key)).toMatchObject({ spent: 70, held: {} });
    const { seq, hash } = (await store.audit.head(ann)) as AuditEntry;
    const verdict = await verifyAudit(ann, await store.audit.list(ann), { head: { seq, hash } });
    expect(verdict).toMatchObject({ ok: true, count: seq });
    expect(await store.steps.open(ann)).toEqual([]);
  });
});

test('C61: a process that is killed while it writes leaves what it had said is stored, and nothing torn', async () => {
  const shared = await sqlite();
  const confirmed: string[] = [];
  for (let round = 0; round < 4; round += 1) {
    const argument = { step: someStep(), scope: ann, facts: someFacts };
    const workers = [await start('write', shared, argument), await start('write', shared, argument)];
    for (const worker of workers) worker.process.stdin?.write('go\n');
    for (const { process: process_, lines } of workers) {
      for (let said = 0; said < 5 + round * 3; said += 1)
        confirmed.push(JSON.parse((await lines.next()).value ?? ''));
      process_.kill('SIGKILL');
      await once(process_, 'exit');
    }
    const database = new Database(shared.path);
    expect(database.prepare('pragma integrity_check').all()).toMatchObject([{ integrity_check: 'ok' }]);
    const store = await openSqlStore({ sqlite: database });
    for (const id of confirmed) {
      expect(await store.steps.get(id)).toMatchObject({ state: 'approved', revision: 2 });
    }
    for (const step of await store.steps.open(ann)) {
      expect([step.state, step.revision]).toEqual(step.revision === 1 ? ['pending', 1] : ['approved', 2]);
    }
    await expectChain(store, (await store.audit.head(ann))?.seq ?? -1);
    database.close();
  }
});
