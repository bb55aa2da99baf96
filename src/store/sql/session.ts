import type { Kysely } from 'kysely';
import { SkillRunError } from '../../errors.ts';
import { deepFreeze } from '../../skill/json.ts';
import { sha256 } from '../../skill/sha256.ts';
import { failureOf } from './failure.ts';
import type { Tables } from './tables.ts';

/** What every part of one store works with. */
export interface Session {
  readonly db: Kysely<Tables>;
  /**
   * Runs one query.
   *
   * @throws `store_unavailable` where the database fails, `closed` once the store is closed
   */
  run<T>(query: { execute(): Promise<T> }): Promise<T>;
  /** Settles when the queries that run have ended; no other begins. */
  close(): Promise<void>;
}

export function createSession(db: Kysely<Tables>): Session {
  const running = new Set<Promise<unknown>>();
  let closed = false;
  return {
    db,
    async run(query) {
      if (closed) throw new SkillRunError('closed', 'The store is closed. Open a new one.');
      const answer = query.execute();
      running.add(answer);
      try {
        return await answer;
      } catch (error) {
        throw failureOf(error);
      } finally {
        running.delete(answer);
      }
    },
    async close() {
      closed = true;
      await Promise.allSettled(running);
    },
  };
}

/** The value in a row's `record`, frozen; `undefined` where there is no row. What is not JSON is null. */
export function recordIn<T>(row: { record: string } | undefined, read: (value: unknown) => T): T | undefined {
  return row && deepFreeze(read(parse(row.record)));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The readers tell of it: they take no null.
    return null;
  }
}

/** A column's stand-in for texts of any length and content. */
export function keyOf(...texts: readonly string[]): Promise<string> {
  return sha256(JSON.stringify(texts));
}
