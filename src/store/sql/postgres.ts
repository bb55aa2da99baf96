import { CompiledQuery, type PostgresPool as KyselyPool, PostgresDialect } from 'kysely';
import type { Dialect } from './dialect.ts';

/** What is used of a pool with `pg.Pool`'s API. */
export interface PostgresPool {
  connect(): Promise<PostgresConnection>;
}

/** A connection of {@link PostgresPool}. */
export interface PostgresConnection {
  query(text: string, values?: unknown[]): Promise<PostgresAnswer>;
  /** Gives it back; with `true` the pool throws it away. */
  release(destroy?: boolean): void;
  /** Tells of a connection that broke while no query was on its way. */
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** What a query answers. */
export interface PostgresAnswer {
  readonly command: string;
  readonly rowCount: number | null;
  readonly rows: unknown[];
}

// Ours alone: the first 12 hex digits of the sha256 of `openvibe-skill-run`.
const lock = 0x4de28fb66d83;

export function postgresDialect(hosts: PostgresPool): Dialect {
  const pool = heard(hosts);
  return {
    // Kysely's type wants what ends it too, for a `destroy` that is never called: it is the host's.
    kysely: new PostgresDialect({ pool: pool as unknown as KyselyPool }),
    // Not to_regclass, which after the wait for the lock may still answer from what the connection remembers.
    tableNamed: (name) =>
      CompiledQuery.raw('select 1 from pg_class where relname = $1 and pg_table_is_visible(oid)', [name]),
    async exclusive(script) {
      const connection = await pool.connect();
      let broken = false;
      try {
        // Whatever the server's default: a snapshot of before the lock would not see what its last holder made.
        await connection.query('begin isolation level read committed');
        await connection.query(`select pg_advisory_xact_lock(${lock})`);
        for (let next = script.next(); next.done !== true; ) {
          const { rows } = await connection.query(next.value.sql, [...next.value.parameters]);
          next = script.next(rows);
        }
        await connection.query('commit');
      } catch (error) {
        await connection.query('rollback').catch(() => {
          broken = true;
        });
        throw error;
      } finally {
        connection.release(broken);
      }
    },
  };
}

// A pool listens only to the connections that nobody has. One that breaks between two queries would end the host's
// process; its next query fails, which is all that has to be known.
function heard(pool: PostgresPool): PostgresPool {
  return {
    async connect() {
      const connection = await pool.connect();
      const ignore = (): void => {};
      connection.on?.('error', ignore);
      return {
        query: (text, values) => connection.query(text, values),
        release(destroy) {
          connection.off?.('error', ignore);
          connection.release(destroy);
        },
      };
    },
  };
}
