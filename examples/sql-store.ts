// A store in a database: a step that waits for the person outlives the process that asked.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { createSkillGateway, modelText, verifySkills } from 'openvibe-skill-run';
import { createLocalLink } from 'openvibe-skill-run/link';
import { openSqlStore } from 'openvibe-skill-run/store/sql';
import { readySkills } from 'openvibe-skill-run/testing';

const person = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
const skills = await verifySkills([readySkills.slugify]);
const link = createLocalLink({ owner: person.subject, skills: 'on' });
const name = skills.menu.tools[0]?.name ?? '';
const folder = await mkdtemp(join(tmpdir(), 'openvibe-example-'));
const path = join(folder, 'skill-run.db');

//#region sql-store
// In the bot's process: the call is stored before it is answered, and the process may end.
const database = new Database(path); // or: openSqlStore({ postgres: new Pool({ connectionString }) })
const store = await openSqlStore({ sqlite: database });
const bot = createSkillGateway({ person, skills, run: link, store });
const waiting = await bot.call({ id: 'call_1', name, arguments: { title: 'Outlive a restart' } });
await bot.close();
await store.close();
database.close();

// In any process after it, on the same database: it still waits, is decided once and runs once.
const later = new Database(path);
const page = createSkillGateway({ person, skills, run: link, store: await openSqlStore({ sqlite: later }) });
const [request] = await page.approvals.pending();
await page.approvals.approve(request?.id ?? '', { by: person.subject });
const outcome = await page.resume(request?.id ?? '');
console.log(modelText(outcome));
//#endregion

if (request?.id !== waiting.step?.id) throw new Error('The step did not outlive its process.');
if (outcome.status !== 'completed') throw new Error(`The step did not run: ${outcome.message}`);
await page.close();
later.close();
await link.close();
await rm(folder, { recursive: true });
