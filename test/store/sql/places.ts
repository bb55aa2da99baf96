import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import Database from 'libsql';
import pg from 'pg';
import { randomHex } from '../../../src/ids.ts';
import { openSqlStore, type SqlStore } from '../../../src/store/sql/open.ts';
import type { PostgresPool } from '../../../src/store/sql/postgres.ts';
import type { SqliteDatabase, SqliteStatement } from '../../../src/store/sql/sqlite.ts';

/** One empty database for one test. */
export interface Place {
  /** A store over it, on a connection of its own where the database allows more than one. */
  open(): Promise<SqlStore>;
  /** Runs a statement past the store. */
  query(text: string, values?: unknown[]): Promise<readonly Record<string, unknown>[]>;
  /** Told every statement of stores that are opened after this, before it runs. */
  watch(seen: (text: string, values: readonly unknown[]) => void): void;
  close(): Promise<void>;
}

/** One kind of database. */
export interface Kind {
  readonly name: string;
  readonly dialect: 'sqlite' | 'postgres';
  place(): Promise<Place>;
}

/** The PostgreSQL server on TCP to test on, `postgres://…`, where there is one. */
export const server = process.env.SKILL_RUN_POSTGRES;

export const kinds: readonly Kind[] = [
  { name: 'SQLite in memory', dialect: 'sqlite', place: async () => sqlitePlace(':memory:') },
  { name: 'SQLite in a file', dialect: 'sqlite', place: async () => sqlitePlace() },
  { name: 'PGlite', dialect: 'postgres', place: () => postgresPlace(pglitePool) },
  ...(server === undefined
    ? []
    : [{ name: 'PostgreSQL', dialect: 'postgres', place: () => postgresPlace(pgPool) } as const]),
];

type Seen = (text: string, values: readonly unknown[]) => void;

function sqlitePlace(memory?: ':memory:'): Place {
  const folder = memory ?? mkdtempSync(join(tmpdir(), 'openvibe-store-'));
  const path = memory ?? join(folder, 'store.db');
  const databases: Database.Database[] = [];
  const connect = (): Database.Database => {
    const [first] = databases;
    if (memory !== undefined && first !== undefined) return first;
    const database = new Database(path);
    databases.push(database);
    return database;
  };
  let seen: Seen | undefined;
  return {
    open: () => {
      const database = connect();
      return openSqlStore({ sqlite: seen === undefined ? database : watchedDatabase(database, seen) });
    },
    query: async (text, values = []) => rowsOf(connect().prepare(text), values) as Record<string, unknown>[],
    watch: (told) => {
      seen = told;
    },
    async close() {
      for (const database of databases) database.close();
      if (memory === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function watchedDatabase(database: SqliteDatabase, seen: Seen): SqliteDatabase {
  return {
    exec: (text) => database.exec(text),
    prepare(text) {
      const statement = database.prepare(text);
      return {
        reader: statement.reader,
        run(values) {
          seen(text, values);
          return statement.run(values);
        },
        all(values) {
          seen(text, values);
          return statement.all(values);
        },
        iterate: (values) => statement.iterate(values),
      };
    },
  };
}

function rowsOf(statement: SqliteStatement, values: unknown[]): unknown[] {
  if (statement.reader) return statement.all(values);
  statement.run(values);
  return [];
}

type ClosablePool = PostgresPool & { end(): Promise<void> };

async function postgresPlace(poolOf: (schema: string) => Promise<ClosablePool>): Promise<Place> {
  const schema = `test_${randomHex(8)}`;
  const base = await poolOf(schema);
  const pools = [base];
  const query: Place['query'] = async (text, values = []) => {
    const connection = await base.connect();
    try {
      return (await connection.query(text, values)).rows as Record<string, unknown>[];
    } finally {
      connection.release();
    }
  };
  await query(`create schema ${schema}`);
  let seen: Seen | undefined;
  return {
    async open() {
      const pool = await poolOf(schema);
      pools.push(pool);
      return openSqlStore({ postgres: seen === undefined ? pool : watched(pool, seen) });
    },
    query,
    watch: (told) => {
      seen = told;
    },
    async close() {
      await query(`drop schema ${schema} cascade`);
      for (const pool of pools) await pool.end();
    },
  };
}

function watched(pool: PostgresPool, seen: Seen): PostgresPool {
  return {
    async connect() {
      const connection = await pool.connect();
      return {
        query: (text, values = []) => {
          seen(text, values);
          return connection.query(text, values);
        },
        release: (destroy) => connection.release(destroy),
      };
    },
  };
}

async function pgPool(schema: string): Promise<ClosablePool> {
  return new pg.Pool({ connectionString: server, options: `-c search_path=${schema}`, max: 4 });
}

let started: Promise<PGlite> | undefined;

/** Ends the one PGlite of this test file. */
export async function stopPglite(): Promise<void> {
  await (await started)?.close();
}

let turn: Promise<void> = Promise.resolve();

// PGlite has one connection: whoever has it keeps the others waiting, so that a transaction is nobody else's.
async function pglitePool(schema: string): Promise<ClosablePool> {
  started ??= PGlite.create();
  const database = await started;
  return {
    async connect() {
      let release = (): void => {};
      const before = turn;
      turn = new Promise((resolve) => {
        release = resolve;
      });
      await before;
      await database.query(`set search_path to ${schema}`);
      return {
        query: async (text, values) => {
          const { rows, affectedRows = null } = await database.query(text, values);
          return { command: text.trim().split(' ')[0]?.toUpperCase() ?? '', rowCount: affectedRows, rows };
        },
        release: () => release(),
      };
    },
    end: async () => {},
  };
}
