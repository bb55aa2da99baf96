import { Kysely } from 'kysely';
import { invalidOption } from '../../errors.ts';
import type { StorePort } from '../port.ts';
import { sqlAllowance } from './allowance.ts';
import { sqlAudit } from './audit.ts';
import type { Dialect } from './dialect.ts';
import { sqlGrants } from './grants.ts';
import { migrate } from './migrations.ts';
import { type PostgresPool, postgresDialect } from './postgres.ts';
import { createSession } from './session.ts';
import { type SqliteDatabase, sqliteDialect } from './sqlite.ts';
import { sqlSteps } from './steps.ts';
import type { Tables } from './tables.ts';

/** A store in an SQLite database. */
export interface SqliteStoreOptions {
  /**
   * The open database, of anything with better-sqlite3's API (`libsql`, `better-sqlite3`). The store turns on
   * its write-ahead log and sees that `synchronous` is at least `FULL`. Any number of processes may have the
   * same file open, each with its own. Never leave a transaction of your own open on it: the store makes
   * one for each query, and fails inside of another.
   */
  sqlite: SqliteDatabase;
  /**
   * Milliseconds for which a query waits while another process writes; then it is `store_unavailable`, to be
   * made again. SQLite waits inside the call, so nothing else of this process goes on. Default 5000, 0 to 60 000.
   */
  busyTimeoutMs?: number;
  postgres?: never;
}

/** A store in a PostgreSQL database. */
export interface PostgresStoreOptions {
  /**
   * A pool with `pg.Pool`'s API. The tables are made in the first schema of its connections' `search_path`.
   * Listen to the pool's `error` event, as for any use of `pg`. Leave `synchronous_commit` on, and the default
   * isolation at `read committed`: a stricter one turns races that the store settles into errors to try again.
   */
  postgres: PostgresPool;
  sqlite?: never;
  busyTimeoutMs?: never;
}

/** A durable store. It holds the arguments of steps, and no token, header or result. */
export interface SqlStore extends StorePort {
  readonly durable: true;
  /**
   * Settles when the queries that run have ended; every later call is `closed`. It closes only what the store
   * opened: the database or the pool is the host's, to close after it.
   */
  close(): Promise<void>;
}

/**
 * Opens a store in a database of the host's, and makes or brings up to date its tables (`skill_run_…`). Any
 * number of processes may do so at once. Of the same SQLite connection, open one.
 *
 * @throws `option_invalid`; `store_schema_unknown` for tables of a newer version, which stay as they are;
 * `store_unavailable` where the database fails, is broken or is no database (`retryable` where it is only busy or
 * out of reach). Every method of the store has that error too, `step_schema_unknown` for a step that a newer
 * version wrote, and `step_invalid` or `store_invalid` for a stored record that is none. No value of a record
 * stands in an error, and no error of the driver's comes with it.
 */
export async function openSqlStore(options: SqliteStoreOptions | PostgresStoreOptions): Promise<SqlStore> {
  const dialect = dialectOf(options);
  const db = new Kysely<Tables>({ dialect: dialect.kysely });
  const session = createSession(db);
  await session.run({ execute: () => dialect.exclusive(migrate(db, dialect)) });
  return {
    durable: true,
    steps: sqlSteps(session),
    grants: sqlGrants(session),
    audit: sqlAudit(session),
    allowance: sqlAllowance(session),
    close: session.close,
  };
}

function dialectOf({
  sqlite,
  postgres,
  busyTimeoutMs = 5000,
}: SqliteStoreOptions | PostgresStoreOptions): Dialect {
  if (!(Number.isSafeInteger(busyTimeoutMs) && busyTimeoutMs >= 0 && busyTimeoutMs <= 60_000)) {
    throw invalidOption(
      'busyTimeoutMs',
      'must be a whole number of milliseconds from 0 to 60000',
      'Leave it out for 5000.',
    );
  }
  if (typeof sqlite?.prepare === 'function' && typeof sqlite.exec === 'function' && postgres === undefined)
    return sqliteDialect(sqlite, busyTimeoutMs);
  if (typeof postgres?.connect === 'function' && sqlite === undefined) return postgresDialect(postgres);
  throw invalidOption(
    'sqlite, postgres',
    "exactly one of them must be there: a database with better-sqlite3's API, or a pool with pg's",
    'Pass { sqlite: new Database(path) } or { postgres: new Pool() }.',
  );
}
