// Deciding later, in another process: the call answers at once, a page asks the person, a worker resumes.
import {
  createMemoryStore,
  createSkillGateway,
  describeApproval,
  modelText,
  verifySkills,
} from 'openvibe-skill-run';
import { createLocalLink } from 'openvibe-skill-run/link';
import { readySkills } from 'openvibe-skill-run/testing';

const person = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
const skills = await verifySkills([readySkills.slugify]);
const link = createLocalLink({ owner: person.subject, skills: 'on' });
const name = skills.menu.tools[0]?.name ?? '';

//#region deferred
// In the bot: without an approver, a call answers `awaiting_approval` at once.
const store = createMemoryStore();
const bot = createSkillGateway({ person, skills, run: link, store });
const waiting = await bot.call({ id: 'call_1', name, arguments: { title: 'Decide later' } });
const carried = store.snapshot();

// In the page that the person opens: what they see is exactly what would run.
const page = createSkillGateway({ person, skills, run: link, store: createMemoryStore(carried) });
for (const request of await page.approvals.pending()) {
  console.log(describeApproval(request));
  await page.approvals.approve(request.id, { by: person.subject, digest: request.digest });
}

// Wherever the store is: a decided step is resumed, by anyone, and runs once.
const outcome = await page.resume(waiting.step?.id ?? '');
console.log(modelText(outcome));
//#endregion

if (outcome.status !== 'completed') throw new Error(`The step did not run: ${outcome.message}`);
await page.close();
await bot.close();
await link.close();
