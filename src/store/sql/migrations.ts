import { type Compilable, type CompiledQuery, type Kysely, sql } from 'kysely';
import { SkillRunError } from '../../errors.ts';
import type { Dialect, Script } from './dialect.ts';
import type { Tables } from './tables.ts';

/** What brings a database from one version to the next. One that was released never changes. */
const migrations: readonly ((db: Kysely<Tables>) => Iterable<Compilable>)[] = [createTables];

/**
 * Brings the tables up to date.
 *
 * @throws `store_schema_unknown` for tables that a newer version made; nothing is changed in them
 */
export function* migrate(db: Kysely<Tables>, dialect: Dialect): Script {
  const version = yield* readVersion(db, dialect);
  if (version > migrations.length) {
    throw new SkillRunError(
      'store_schema_unknown',
      `The database has tables of version ${version}; this version of the library knows 1 to ${migrations.length}. Use the version that made them, or a newer one.`,
    );
  }
  for (const [at, statements] of migrations.entries()) {
    if (at < version) continue;
    for (const statement of statements(db)) yield statement.compile();
    yield db
      .insertInto('skill_run_schema')
      .values({ version: at + 1 })
      .compile();
  }
}

function* readVersion(
  db: Kysely<Tables>,
  dialect: Dialect,
): Generator<CompiledQuery, number, readonly unknown[]> {
  const found = yield dialect.tableNamed('skill_run_schema');
  if (found.length === 0) return 0;
  const rows = yield db.selectFrom('skill_run_schema').select('version').compile();
  return Math.max(0, ...(rows as readonly { version: unknown }[]).map(({ version }) => Number(version)));
}

function* createTables(db: Kysely<Tables>): Iterable<Compilable> {
  yield db.schema
    .createTable('skill_run_schema')
    .addColumn('version', 'integer', (column) => column.primaryKey().notNull());
  yield db.schema
    .createTable('skill_run_steps')
    .addColumn('id', 'text', (column) => column.primaryKey().notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('session_key', 'text', (column) => column.notNull())
    .addColumn('turn_key', 'text', (column) => column.notNull())
    .addColumn('digest', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('open', 'integer', (column) => column.notNull())
    .addColumn('ran', 'integer', (column) => column.notNull())
    .addColumn('replay_key', 'text', (column) => column.unique())
    .addColumn('record', 'text', (column) => column.notNull());
  // Only of steps that have not ended: it stays as small as they are few, however many steps are stored.
  yield db.schema
    .createIndex('skill_run_steps_open')
    .on('skill_run_steps')
    .columns(['subject', 'project', 'id'])
    .where(sql.ref('open'), '=', sql.lit(1));
  yield db.schema
    .createIndex('skill_run_steps_session')
    .on('skill_run_steps')
    .columns(['session_key', 'turn_key', 'digest', 'state', 'ran']);
  yield db.schema
    .createTable('skill_run_grants')
    .addColumn('key', 'text', (column) => column.primaryKey().notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('record', 'text', (column) => column.notNull());
  yield db.schema
    .createIndex('skill_run_grants_person')
    .on('skill_run_grants')
    .columns(['subject', 'project', 'id']);
  yield db.schema
    .createTable('skill_run_audit')
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('project', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('record', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('skill_run_audit_chain', ['subject', 'project', 'seq']);
  yield db.schema
    .createTable('skill_run_allowance')
    .addColumn('key', 'text', (column) => column.primaryKey().notNull())
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('record', 'text', (column) => column.notNull());
}
