import { CompiledQuery, SqliteDialect } from 'kysely';
import type { Dialect, Script } from './dialect.ts';

/** What is used of a database with better-sqlite3's API: `libsql`, `better-sqlite3`. */
export interface SqliteDatabase {
  prepare(source: string): SqliteStatement;
  exec(source: string): unknown;
}

/** A statement of {@link SqliteDatabase}. */
export interface SqliteStatement {
  /** Whether it answers rows. */
  readonly reader: boolean;
  all(parameters: unknown[]): unknown[];
  run(parameters: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  iterate(parameters: unknown[]): IterableIterator<unknown>;
}

/** @param busyTimeoutMs milliseconds for which a query waits for another process that writes */
export function sqliteDialect(database: SqliteDatabase, busyTimeoutMs: number): Dialect {
  const query = (text: string, values: readonly unknown[] = []): readonly unknown[] => {
    const statement = database.prepare(text);
    if (statement.reader) return statement.all([...values]);
    statement.run([...values]);
    return [];
  };
  return {
    // Kysely's type wants what closes it too, for a `destroy` that is never called: it is the host's.
    kysely: new SqliteDialect({ database: inTransactions(database) as SqliteDatabase & { close(): void } }),
    tableNamed: (name) =>
      CompiledQuery.raw("select 1 from sqlite_master where type = 'table' and name = ?", [name]),
    async exclusive(script) {
      query(`pragma busy_timeout = ${busyTimeoutMs}`);
      // Immediate: a transaction that begins by reading cannot wait for its turn to write.
      transaction(database, 'begin immediate', () => play(script, query));
      // Where it cannot be (in memory, on some file systems) the database stays as it is: slower, and as safe.
      try {
        database.exec('pragma journal_mode = wal');
      } catch {
        // Another process has the file open just now: it asks for the same, and SQLite does not wait here.
      }
      // FULL, also where the build's default for WAL is NORMAL (better-sqlite3): NORMAL may lose what was committed
      // last when the power fails, and that may be the record of a submit or the revocation of a grant.
      const [row] = query('pragma synchronous') as readonly { synchronous?: unknown }[];
      if (Number(row?.synchronous) < 2) query('pragma synchronous = full');
    },
  };
}

function play(script: Script, query: (text: string, values: readonly unknown[]) => readonly unknown[]): void {
  for (let next = script.next(); next.done !== true; ) {
    next = script.next(query(next.value.sql, next.value.parameters));
  }
}

/**
 * Each query in a transaction that is begun and ended by text. With `libsql` a prepared statement that found the
 * database busy stays unfinished until it is collected, and while one is, what the connection writes is not
 * committed, though it looks so. By text it is finished at once: so a text takes the lock, and waits for it.
 */
function inTransactions(database: SqliteDatabase): SqliteDatabase {
  return {
    exec: (source) => database.exec(source),
    prepare(source) {
      const statement = database.prepare(source);
      const isRead = /^select\b/i.test(source);
      const within = <T>(work: () => T): T =>
        transaction(database, isRead ? 'begin' : 'begin immediate', () => {
          if (isRead) database.exec('select 1 from sqlite_master limit 1');
          return work();
        });
      return {
        reader: statement.reader,
        all: (parameters) => within(() => statement.all(parameters)),
        run: (parameters) => within(() => statement.run(parameters)),
        iterate: (parameters) => statement.iterate(parameters),
      };
    },
  };
}

function transaction<T>(database: SqliteDatabase, begin: string, work: () => T): T {
  // Where it fails there is none, or one of the host's, which is not ours to undo.
  database.exec(begin);
  try {
    const done = work();
    database.exec('commit');
    return done;
  } catch (error) {
    try {
      database.exec('rollback');
    } catch {
      // After some errors SQLite has done so already; the first error is the one to tell.
    }
    throw error;
  }
}
