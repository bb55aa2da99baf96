//#region loop
import { createSkillGateway, modelText, verifySkills } from 'openvibe-skill-run';
import { createLocalLink } from 'openvibe-skill-run/link';
import { readySkills } from 'openvibe-skill-run/testing';
import { askPerson, model, person } from './harness/loop.ts';

const skills = await verifySkills([readySkills.slugify]); // what the person has installed
const link = createLocalLink({ owner: person.subject, skills: 'on' });
const gateway = createSkillGateway({ person, skills, run: link, approver: askPerson });

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
