import type { CompiledQuery, Dialect as KyselyDialect } from 'kysely';

/** What the two databases do each in their own way; all else is one set of queries. */
export interface Dialect {
  readonly kysely: KyselyDialect;
  /** Answers a row where there is a table of this name. */
  tableNamed(name: string): CompiledQuery;
  /** Plays the script in one transaction, while nobody else does. */
  exclusive(script: Script): Promise<void>;
}

/**
 * Queries one after another, each handed the rows that the one before answered. A generator, so that SQLite plays
 * it without giving up control: with a transaction open over an `await`, another connection of the same process
 * would wait for it inside a call, and so for ever.
 */
export type Script = Generator<CompiledQuery, void, readonly unknown[]>;
