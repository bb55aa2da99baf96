import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import pg from 'pg';
import { isSkillRunError } from '../../src/errors.ts';
import { randomHex } from '../../src/ids.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import { openSqlStore } from '../../src/store/sql/open.ts';
import type { Random } from './random.ts';

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

/**
 * Opens a database; as one process `ofMany`, it waits less long for the others than a host would. What a power failure would lose is of no interest here, so nothing is forced to the disk.
 */
export async function openTarget(target: Target, ofMany = false): Promise<ChaosStore> {
  if ('sqlite' in target) {
    const database = new Database(target.sqlite);
    const store = await openSqlStore({ sqlite: database, ...(ofMany && { busyTimeoutMs: 100 }) });
    database.pragma('synchronous = off');
    return { store, [Symbol.asyncDispose]: async () => void database.close() };
  }
  const pool = ofMany ? poolOf(target, 4, target.schema, 100) : poolOf(target, 4);
  return { store: await openSqlStore({ postgres: pool }), [Symbol.asyncDispose]: () => pool.end() };
}

function poolOf(
  { postgres, schema }: Extract<Target, { readonly postgres: string }>,
  max: number,
  name = 'chaos',
  lockMs = 0,
): pg.Pool {
  const options = `-c search_path=${schema} -c synchronous_commit=off -c lock_timeout=${lockMs}`;
  const pool = new pg.Pool({ connectionString: postgres, options, max, application_name: name });
  // An idle connection that breaks is none of anybody's calls.
  pool.on('error', () => {});
  return pool;
}

/** Opens one as a process of many, also while others hold it. */
export async function openBusy(target: Target): Promise<ChaosStore> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await openTarget(target, true);
    } catch (error) {
      if (!isSkillRunError(error, 'store_unavailable') || tries > 100) throw error;
      await sleep(20);
    }
  }
}

/** Keeps a database from everybody else, again and again for as long as some milliseconds, until `signal`. */
export async function pester(target: Target, random: Random, signal: AbortSignal): Promise<void> {
  const pg = 'sqlite' in target ? undefined : poolOf(target, 1);
  const sqlite = 'sqlite' in target ? new Database(target.sqlite) : undefined;
  sqlite?.pragma('busy_timeout = 50');
  const run = async (query: string): Promise<void> => {
    if (pg === undefined) sqlite?.exec(query);
    else await pg.query(query);
  };
  const lock =
    'lock table skill_run_steps, skill_run_audit, skill_run_grants, skill_run_allowance in access exclusive mode';
  while (!signal.aborted) {
    await sleep(random.pick([20, 100, 400]));
    try {
      await run(pg === undefined ? 'begin immediate' : `begin; ${lock}`);
      await sleep(random.pick([1, 20, 150, 300]));
    } catch {
      // Others were faster.
    }
    await run('commit').catch(() => {});
    // A connection of somebody's breaks.
    if (random.chance(0.1)) await pg?.query(breakOne).catch(() => {});
  }
  sqlite?.close();
  await pg?.end();
}

const breakOne = `select pg_terminate_backend(pid) from pg_stat_activity
  where application_name = current_setting('search_path') and pid <> pg_backend_pid() order by random() limit 1`;

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
