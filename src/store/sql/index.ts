export { openSqlStore, type PostgresStoreOptions, type SqliteStoreOptions, type SqlStore } from './open.ts';
export type { PostgresAnswer, PostgresConnection, PostgresPool } from './postgres.ts';
export type { SqliteDatabase, SqliteStatement } from './sqlite.ts';
