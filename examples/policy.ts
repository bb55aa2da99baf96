// Policy as rules: plain data, checked when it is loaded, tried on recorded steps, then turned on.
import { createMemoryStore, createSkillGateway, verifySkills } from 'openvibe-skill-run';
import { createLocalLink } from 'openvibe-skill-run/link';
import { compileRules, type PolicyRule, simulate } from 'openvibe-skill-run/policy';
import { readySkills } from 'openvibe-skill-run/testing';

const person = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
const agent = { id: 'agt_01JAB2C3D4E5F6G7H8J9K0MNPQ', level: 'auto' } as const;
const skills = await verifySkills([readySkills.slugify]);
const link = createLocalLink({ owner: person.subject, skills: 'on' });
const store = createMemoryStore();
const name = skills.menu.tools[0]?.name ?? '';
const call = (title: string) => ({ name, arguments: { title } });

const before = createSkillGateway({ person, agent, skills, run: link, store });
const waiting = await before.call(call('Before there were rules'));
await before.close();

//#region policy
const rules: PolicyRule[] = [
  {
    id: 'offline',
    effect: 'allow',
    when: 'net == "deny" && skill.verdict == "clean" && count.turn < 10',
    reason: 'A clean tool without network may run.',
  },
  {
    id: 'no-drafts',
    effect: 'deny',
    when: 'has(args.title) && args.title.lowerAscii().matches("(?:^|[ ])draft")',
    reason: 'Drafts are not published.',
  },
  {
    id: 'unattended',
    effect: 'ask',
    when: 'agent.alone || taint',
    reason: 'Nobody watches, or the arguments repeat what a tool said.',
    allowAlways: false,
  },
];
const policy = await compileRules(rules); // throws `policy_invalid`, naming the rule and the place in it

// A dry run over steps that were recorded: nothing is asked, stored or run.
for (const { target, now } of await simulate(policy, await store.steps.open(person))) {
  console.log(`${target}: ${now}`);
}
const gateway = createSkillGateway({ person, agent, skills, run: link, store, policy });
//#endregion

const ran = await gateway.call(call('Hello, World!'));
const refused = await gateway.call(call('A draft'));
if (waiting.status !== 'awaiting_approval')
  throw new Error(`Without rules it was not asked: ${waiting.status}`);
if (ran.status !== 'completed') throw new Error(`The rule did not allow it: ${ran.message}`);
if (refused.code !== 'no-drafts') throw new Error(`The rule did not refuse it: ${refused.message}`);
console.log(refused.message);
await gateway.close();
await link.close();
