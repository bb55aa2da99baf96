import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import pg from 'pg';
import { randomHex } from '../../src/ids.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import { openSqlStore } from '../../src/store/sql/open.ts';

/** The stores that schedules are played over. */
export const storeNames = ['memory', 'sqlite', 'postgres'] as const;

export type StoreName = (typeof storeNames)[number];

/** A database that any number of processes can open. */
export type Target = { readonly sqlite: string } | { readonly postgres: string; readonly schema: string };

/** An open store, and what it was opened over. */
export interface ChaosStore extends AsyncDisposable {
  readonly store: StorePort;
}

/** The server of `SKILL_RUN_POSTGRES`, `postgres://…`, where there is one. */
export const server = process.env.SKILL_RUN_POSTGRES || undefined;

/** Opens a database. What a power failure would lose is of no interest here, so nothing is forced to the disk. */
export async function openTarget(target: Target): Promise<ChaosStore> {
  if ('sqlite' in target) {
    const database = new Database(target.sqlite);
    const store = await openSqlStore({ sqlite: database });
    database.pragma('synchronous = off');
    return { store, [Symbol.asyncDispose]: async () => void database.close() };
  }
  const pool = new pg.Pool({
    connectionString: target.postgres,
    options: `-c search_path=${target.schema} -c synchronous_commit=off`,
    max: 4,
  });
  return { store: await openSqlStore({ postgres: pool }), [Symbol.asyncDispose]: () => pool.end() };
}

/** A new database of that kind, which other processes can open. */
export async function makeTarget(
  name: Exclude<StoreName, 'memory'>,
): Promise<AsyncDisposable & { readonly target: Target }> {
  if (name === 'sqlite') {
    const folder = await mkdtemp(join(tmpdir(), 'openvibe-chaos-'));
    return {
      target: { sqlite: join(folder, 'store.db') },
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
    };
  }
  if (server === undefined) throw new Error('Name a PostgreSQL in SKILL_RUN_POSTGRES: postgres://…');
  const schema = `chaos_${randomHex(8)}`;
  const pool = new pg.Pool({ connectionString: server, max: 1 });
  await pool.query(`create schema ${schema}`);
  return {
    target: { postgres: server, schema },
    async [Symbol.asyncDispose]() {
      await pool.query(`drop schema ${schema} cascade`);
      await pool.end();
    },
  };
}

/** A store for schedules inside of this process: each of them is of a person of its own. */
export async function openStore(name: StoreName): Promise<AsyncDisposable & { next(): StorePort }> {
  if (name === 'memory') return { next: () => createMemoryStore(), [Symbol.asyncDispose]: async () => {} };
  if (name === 'sqlite') {
    const opened = await openTarget({ sqlite: ':memory:' });
    return { next: () => opened.store, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
  }
  const made = await makeTarget(name);
  const opened = await openTarget(made.target);
  return {
    next: () => opened.store,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await made[Symbol.asyncDispose]();
    },
  };
}
