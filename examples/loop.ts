// The shortest whole loop: a model that may call installed skills. Run it with `npm run examples`.
import { createSkillGateway, modelText, verifySkills } from 'openvibe-skill-run';
import { createLocalLink } from 'openvibe-skill-run/link';
import { createScriptedModel, readySkills } from 'openvibe-skill-run/testing';

const person = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
const { tools } = (await verifySkills([readySkills.slugify])).menu;
const script = [
  [{ id: 'call_1', name: tools[0]?.name ?? '', arguments: '{"title":"Hello, World!"}' }],
  'Your slug is hello-world.',
];
const model = createScriptedModel(script);
const askOnTheTerminal = async () => ({ decision: 'approve' }) as const;

//#region loop
const skills = await verifySkills([readySkills.slugify]);
const link = createLocalLink({ owner: person.subject, skills: 'on' });
const gateway = createSkillGateway({ person, skills, run: link, approver: askOnTheTerminal });

const messages: unknown[] = [{ role: 'user', content: 'Give me a slug for "Hello, World!"' }];
for (;;) {
  const turn = model.next(messages); // your model, with gateway.menu.tools in its request
  if (typeof turn === 'string') break;
  messages.push({ role: 'assistant', calls: turn });
  for (const outcome of await gateway.callAll(turn)) {
    messages.push({ role: 'tool', id: outcome.call.id, content: modelText(outcome) });
  }
}
await gateway.close();
await link.close();
//#endregion

const answer = JSON.stringify(messages.at(-1));
if (!answer.includes('hello-world')) throw new Error(`The tool's result is not in the messages: ${answer}`);
console.log(answer);
