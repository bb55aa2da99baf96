import { PGlite } from '@electric-sql/pglite';
import Database from 'libsql';
import pg from 'pg';
import { openSqlStore, type SqlStore } from '../../src/store/sql/open.ts';

/** Which database a process opens. */
export type Target =
  | { readonly sqlite: string }
  | { readonly postgres: string; readonly schema: string }
  | { readonly pglite: true };

/** An open store, and what reaches past it. */
export interface Opened {
  readonly store: SqlStore;
  query(text: string): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

export async function openTarget(target: Target): Promise<Opened> {
  if ('sqlite' in target) {
    const database = new Database(target.sqlite);
    return {
      store: await openSqlStore({ sqlite: database }),
      query: async (text) => {
        database.exec(text);
        return [];
      },
      close: async () => void database.close(),
    };
  }
  if ('postgres' in target) {
    const options = `-c search_path=${target.schema}`;
    const pool = new pg.Pool({ connectionString: target.postgres, options });
    await pool.query(`create schema if not exists ${target.schema}`);
    return {
      store: await openSqlStore({ postgres: pool }),
      query: async (text) => (await pool.query(text)).rows,
      close: () => pool.end(),
    };
  }
  const database = await PGlite.create();
  // One at a time, as the bench is.
  const connection = {
    query: async (text: string, values?: unknown[]) => {
      const { rows, affectedRows = null } = await database.query(text, values);
      return { command: text.split(' ')[0]?.toUpperCase() ?? '', rowCount: affectedRows, rows };
    },
    release: () => {},
  };
  return {
    store: await openSqlStore({ postgres: { connect: async () => connection } }),
    query: async (text) => (await database.query(text)).rows,
    close: () => database.close(),
  };
}
