// npm run chaos -- --schedules N --seed S [--store memory|sqlite|postgres] [--kill] [--only INDEX], or --full --seed S
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { chaosSkills } from './calls.ts';
import { hashAtOnce } from './hashes.ts';
import { killedOf, tallyKills } from './kill.ts';
import { type Tally, tallySchedules } from './run.ts';
import { makeSchedule } from './schedule.ts';
import { openStore, type StoreName, server, storeNames } from './stores.ts';

const { values } = parseArgs({
  options: {
    /** With `--kill`: over which a process is killed; the others are played besides. */
    schedules: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    /** Default: each that there is. */
    store: { type: 'string' },
    /** Over real processes, which are killed. */
    kill: { type: 'boolean', default: false },
    /** Plays one schedule, and prints it. */
    only: { type: 'string' },
    /** Everything that has to hold before a release: many schedules on every store, and with `--kill`. */
    full: { type: 'boolean', default: false },
  },
});

/** So many schedules over one store. */
type Round =
  | { readonly store: StoreName; readonly schedules: number; readonly kill: false }
  | { readonly store: Exclude<StoreName, 'memory'>; readonly schedules: number; readonly kill: true };

const fullRounds: readonly Round[] = [
  { store: 'memory', schedules: 10_000, kill: false },
  { store: 'sqlite', schedules: 10_000, kill: false },
  { store: 'postgres', schedules: 2000, kill: false },
  { store: 'sqlite', schedules: 300, kill: true },
  { store: 'postgres', schedules: 100, kill: true },
];

const seed = wholeOf('seed', values.seed);
const only = values.only === undefined ? undefined : wholeOf('only', values.only);
for (const round of values.full ? fullOf() : roundsOf()) report(round, await play(round));

function fullOf(): readonly Round[] {
  if (values.kill || values.store !== undefined || only !== undefined) {
    fail('--full: goes with --seed alone.');
  }
  if (server === undefined) fail('--full: name a server in SKILL_RUN_POSTGRES, as postgres://…');
  return fullRounds;
}

function roundsOf(): readonly Round[] {
  const { store: wanted, kill } = values;
  if (wanted !== undefined && !storeNames.some((name) => name === wanted)) {
    fail(`--store: one of ${storeNames.join(', ')}.`);
  }
  if (wanted === 'postgres' && server === undefined) {
    fail('--store postgres: name a server in SKILL_RUN_POSTGRES, as postgres://…');
  }
  if (wanted === 'memory' && kill) {
    fail('--kill: memory does not outlive a process. Use another --store.');
  }
  const schedules = wholeOf('schedules', values.schedules);
  return storeNames
    .filter((store) =>
      wanted === undefined ? store !== 'postgres' || server !== undefined : store === wanted,
    )
    .flatMap((store): Round[] => {
      if (!kill) return [{ store, schedules, kill }];
      return store === 'memory' ? [] : [{ store, schedules, kill }];
    });
}

async function play({ store: name, schedules, kill }: Round): Promise<Tally> {
  const skills = await chaosSkills();
  if (only !== undefined) process.stderr.write(`${JSON.stringify(makeSchedule(seed, only), null, 2)}\n`);
  const first = (count: number): number[] => (only === undefined ? [...Array(count).keys()] : [only]);
  if (kill) {
    const program = fileURLToPath(new URL('./child.mjs', import.meta.url));
    // Over two in three somebody dies; where far fewer did, the report says so.
    const made = first(schedules * 3).map((index) => makeSchedule(seed, index));
    return tallyKills({ seed, schedules: made, killed: schedules, skills, store: name, program });
  }
  hashAtOnce();
  await using store = await openStore(name);
  return await tallySchedules({ seed, indices: first(schedules), skills, store: store.next });
}

function report({ store, schedules: wanted, kill }: Round, tally: Tally): void {
  const { schedules, duplicates, lost, wrong, crashes, deaths, unavailable, found } = tally;
  for (const { index, verdict } of found)
    process.stderr.write(`--only ${index}: ${JSON.stringify(verdict)}\n`);
  const died = [...crashes.values()].reduce((sum, times) => sum + times, 0);
  const where = kill ? 'by SIGKILL' : `in ${crashes.size} kinds of await points`;
  process.stderr.write(`${store}: ${died} deaths ${where}\n`);
  const killed = killedOf(tally);
  if (kill)
    process.stderr.write(
      `deaths over each schedule: ${deaths.join(' ')}; calls of the store that failed: ${unavailable}\n`,
    );
  process.stdout.write(
    `${JSON.stringify({ schedules, duplicates, lost, wrong, ...(kill && { killed }), seed, store })}\n`,
  );
  if (duplicates + lost + wrong > 0) process.exitCode = 1;
  if (kill && only === undefined && killed < wanted) {
    process.stderr.write(`A process died over ${killed} schedules, and not over ${wanted}.\n`);
    process.exitCode = 1;
  }
}

function wholeOf(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  return fail(`--${option}: a whole number.`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(2);
}
