// A process of its own over a shared database: node worker.mjs TASK '{"sqlite":PATH}' | '{"postgres":URL,"schema":S}' [ARGUMENT]
// It says `ready`, waits for a line, does its task, and writes what came of it as JSON.
import { once } from 'node:events';
import { newId } from '../../../dist/ids.js';
import { chainEntry } from '../../../dist/store/audit.js';
import { openSqlStore } from '../../../dist/store/sql/index.js';

const [task, target, argument] = process.argv.slice(2);
const options = JSON.parse(target);
const given = JSON.parse(argument);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

say('ready');
await once(process.stdin, 'data');
// Opened after the word, so that all of them make the tables at once.
const { store, end } = await open();
await { grants, audit, approve, write, spend }[task]();
await store.close();
await end();
process.exit();

async function open() {
  if (options.sqlite !== undefined) {
    const { default: Database } = await import('libsql');
    const database = new Database(options.sqlite);
    // SQLite's wait is not fair: beside a busy disk one of many may wait for long, and that is no fault here.
    const store = await openSqlStore({ sqlite: database, busyTimeoutMs: 60_000 });
    return { store, end: async () => database.close() };
  }
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({
    connectionString: options.postgres,
    options: `-c search_path=${options.schema}`,
  });
  return { store: await openSqlStore({ postgres: pool }), end: () => pool.end() };
}

// Puts every grant it was given, and takes every second one back.
async function grants() {
  for (const [at, grant] of given.grants.entries()) {
    await store.grants.put(grant);
    if (at % 2 === 1 && !(await store.grants.remove(grant.id, grant.scope)))
      throw new Error('It was not there.');
  }
  say('done');
}

async function audit() {
  for (let n = 0; n < given.count; n += 1) await append(`${given.name}-${n}`);
  say('done');
}

async function append(status) {
  for (;;) {
    const head = await store.audit.head(given.scope);
    const entry = await chainEntry(given.scope, head, newId('aud', Date.now()), { ...given.facts, status });
    if (await store.audit.append(given.scope, entry)) return;
  }
}

// As often as it was told, at once: how many were stored.
async function approve() {
  const next = { ...given.step, state: 'approved', revision: given.step.revision + 1 };
  const stored = await Promise.all(Array.from({ length: given.count }, () => store.steps.update(next)));
  say(stored.filter(Boolean).length);
}

// Until it is killed: says what is stored, once it is.
async function write() {
  for (let n = 0; ; n += 1) {
    const id = newId('stp', Date.now());
    const { step } = await store.steps.create({ ...given.step, id, why: 'x'.repeat(n % 5000) });
    await append(id);
    await store.steps.update({ ...step, state: 'approved', revision: 2 });
    say(id);
  }
}

// As an agent alone, as many calls as it was told, at once: says how each ended.
async function spend() {
  const { createNodeDirectory, createRunService, createSkillGateway, verifySkills } = await import(
    '../../../dist/index.js'
  );
  const { readySkills } = await import('../../../dist/testing/index.js');
  const skills = await verifySkills([readySkills.slugify]);
  const { person, agent, url: baseUrl } = given;
  const nodes = createNodeDirectory({ baseUrl, ownNodes: () => [] });
  const gateway = createSkillGateway({
    person,
    agent: { id: agent, level: 'auto', alone: true },
    allowance: { seconds: given.seconds, period: 'month' },
    policy: () => ({ effect: 'allow' }),
    skills,
    run: createRunService({ baseUrl, token: () => 'token', nodes }),
    store,
  });
  const call = (_, n) => ({ name: skills.menu.tools[0].name, arguments: { title: `${given.name} ${n}` } });
  const outcomes = await gateway.callAll(Array.from({ length: given.calls }, call));
  await gateway.close();
  say(outcomes.map(({ status }) => status));
}
