// npm run chaos -- --schedules N --seed S [--store memory|sqlite|postgres] [--kill] [--only INDEX]
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chaosSkills } from './calls.ts';
import { hashAtOnce } from './hashes.ts';
import { tallyKills } from './kill.ts';
import { type Tally, tallySchedules } from './run.ts';
import { makeSchedule } from './schedule.ts';
import { openStore, type StoreName, server, storeNames } from './stores.ts';

const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    /** Default: each that there is. */
    store: { type: 'string' },
    /** Over real processes, which are killed. */
    kill: { type: 'boolean', default: false },
    /** Plays one schedule, and prints it. */
    only: { type: 'string' },
  },
});

const seed = wholeOf('seed', values.seed);
const wanted = values.store;
if (wanted !== undefined && !storeNames.some((name) => name === wanted)) {
  fail(`--store: one of ${storeNames.join(', ')}.`);
}
if (wanted === 'postgres' && server === undefined) {
  fail('--store postgres: name a server in SKILL_RUN_POSTGRES, as postgres://…');
}
if (wanted === 'memory' && values.kill) {
  fail('--kill: memory does not outlive a process. Use another --store.');
}
for (const store of storeNames) {
  const isThere = (store !== 'postgres' || server !== undefined) && (store !== 'memory' || !values.kill);
  if (wanted === undefined ? isThere : wanted === store) report(store, await play(store));
}

async function play(storeName: StoreName): Promise<Tally> {
  const skills = await chaosSkills();
  const only = values.only === undefined ? undefined : wholeOf('only', values.only);
  if (only !== undefined) process.stderr.write(`${JSON.stringify(makeSchedule(seed, only), null, 2)}\n`);
  const indices =
    only === undefined ? Array.from({ length: wholeOf('schedules', values.schedules) }, (_, n) => n) : [only];
  if (values.kill && storeName !== 'memory') {
    const program = fileURLToPath(new URL('./child.mjs', import.meta.url));
    return tallyKills({ seed, indices, skills, store: storeName, program });
  }
  hashAtOnce();
  await using store = await openStore(storeName);
  return await tallySchedules({ seed, indices, skills, store: store.next });
}

function report(
  store: StoreName,
  { schedules, duplicates, lost, wrong, crashes, deaths, unavailable, found }: Tally,
): void {
  for (const { index, verdict } of found)
    process.stderr.write(`--only ${index}: ${JSON.stringify(verdict)}\n`);
  const died = [...crashes.values()].reduce((sum, times) => sum + times, 0);
  const where = values.kill ? 'by SIGKILL' : `in ${crashes.size} kinds of await points`;
  process.stderr.write(`${store}: ${died} deaths ${where}\n`);
  const killed = values.kill ? { killed: deaths.filter((times) => times > 0).length } : {};
  if (values.kill)
    process.stderr.write(
      `deaths over each schedule: ${deaths.join(' ')}; calls of the store that failed: ${unavailable}\n`,
    );
  process.stdout.write(`${JSON.stringify({ schedules, duplicates, lost, wrong, ...killed, seed, store })}\n`);
  if (duplicates + lost + wrong > 0) process.exitCode = 1;
}

function wholeOf(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  return fail(`--${option}: a whole number.`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
