// The whole path in one terminal, without an account or a key: `npm run demo`.
//   --deny   the demo's person refuses, and nothing runs
//   --ask    you are asked, by hand
import { createInterface } from 'node:readline';
import {
  type ApprovalRequest,
  createSkillGateway,
  type Decision,
  describeApproval,
  isSkillRunError,
  type ModelCall,
  modelText,
  type Outcome,
  type SkillGateway,
  verifySkills,
} from 'openvibe-skill-run';
import { createLocalLink } from 'openvibe-skill-run/link';
import { createScriptedModel, readySkills, sealSkill } from 'openvibe-skill-run/testing';

const person = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
const agent = { id: 'agt_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
const flags = new Set(process.argv.slice(2));
let prompts = 0;

function title(text: string): void {
  console.log(`\n== ${text}\n`);
}

function check(condition: boolean, what: string): void {
  if (!condition) throw new Error(`The demo did not go as it should: ${what}`);
}

async function askPerson(request: ApprovalRequest): Promise<Decision> {
  prompts += 1;
  console.log(describeApproval(request));
  const { decision, always } = flags.has('--ask') ? await readAnswer() : scriptedAnswer();
  console.log(`\n> ${decision}${always ? ', always' : ''}`);
  return decision === 'deny' ? { decision } : { decision, always };
}

function scriptedAnswer(): { decision: 'approve' | 'deny'; always: boolean } {
  return { decision: flags.has('--deny') ? 'deny' : 'approve', always: !flags.has('--deny') };
}

const terminal = flags.has('--ask') ? createInterface({ input: process.stdin }) : undefined;
const lines = terminal?.[Symbol.asyncIterator]();

async function readAnswer(): Promise<{ decision: 'approve' | 'deny'; always: boolean }> {
  process.stdout.write('\nRun it? [y]es, [a]lways, anything else is no: ');
  const line = await lines?.next();
  const answer = line?.done === false ? line.value.trim() : '';
  return { decision: answer === 'y' || answer === 'a' ? 'approve' : 'deny', always: answer === 'a' };
}

async function play(gateway: SkillGateway, call: ModelCall, sandbox: string): Promise<Outcome> {
  console.log(`the model calls ${call.name} with ${JSON.stringify(call.arguments)}\n`);
  const outcome = await gateway.call(call);
  if (outcome.job) {
    const { id, node, wallMs } = outcome.job;
    console.log(`\njob       ${id}\nnode      ${node}\nbackend   ${sandbox}\nwall      ${wallMs} ms`);
  }
  console.log(`\nwhat the model gets:\n\n${modelText(outcome)}`);
  return outcome;
}

async function main(): Promise<void> {
  const link = createLocalLink({ owner: person.subject, skills: 'on' });
  const { backend, seccomp, node } = await link.ready();
  title('This machine is a Link');
  const sandbox = `${backend}, seccomp ${seccomp}`;
  console.log(`node ${node}, sandbox: ${sandbox}`);

  title('The menu, as a model sees it');
  const skills = await verifySkills([readySkills.slugify, readySkills.fetchTitle]);
  console.log(JSON.stringify(skills.menu.tools, null, 2));
  const slugify = skills.menu.tools.find((tool) => tool.name.startsWith('slugify_'))?.name ?? '';
  const model = createScriptedModel([
    [{ id: 'call_1', name: slugify, arguments: '{"title":"Hello, World!"}' }],
    [{ id: 'call_2', name: slugify, arguments: '{"title":"Once More, Without Asking"}' }],
  ]);
  const nextCall = (): ModelCall => {
    const turn = model.next([]);
    if (typeof turn === 'string' || turn[0] === undefined) throw new Error('The script has no call here.');
    return turn[0];
  };

  const gateway = createSkillGateway({ person, agent, skills, run: link, approver: askPerson });
  title('A call: the person is asked, and the code runs in the sandbox');
  const first = await play(gateway, nextCall(), sandbox);
  if (first.status === 'denied') {
    console.log('\nThe person refused: nothing ran.');
  } else {
    check(first.status === 'completed', first.message);
    title('A second call: under "always" nobody is asked');
    const before = prompts;
    const second = await play(gateway, nextCall(), sandbox);
    check(second.status === 'completed' || second.status === 'denied', second.message);
    const [grant] = await gateway.grants.list();
    check(grant === undefined || prompts === before, 'a grant was there, and the person was asked again');
    if (grant) console.log(`\nallowed by ${grant.id}, which the person can revoke`);

    title('The same skill at a new version: asked again');
    const { integrity: _, ...document } = readySkills.slugify.document;
    const next = await sealSkill({ ...document, version: '1.0.1' });
    const updated = await verifySkills([next]);
    const later = createSkillGateway({ person, agent, skills: updated, run: link });
    const call = {
      id: 'call_3',
      name: updated.menu.tools[0]?.name ?? '',
      arguments: '{"title":"Hello, New Version!"}',
    };
    const waiting = await play(later, call, sandbox);
    check(waiting.status === 'awaiting_approval', 'a new version ran without being asked for');
    console.log('\nwhat the person has to decide:\n');
    for (const request of await later.approvals.pending()) console.log(describeApproval(request));
    await later.close();
  }

  title('A document that was edited after it was written: refused');
  const tampered = { ...readySkills.slugify.document, instructions: 'Do as you like.' };
  const { menu } = await verifySkills([{ document: tampered, listing: readySkills.slugify.listing }]);
  check(menu.tools.length === 0, 'a tampered document is in the menu');
  for (const problem of menu.problems)
    console.log(`${problem.slug ?? 'skill'}: ${problem.reason}: ${problem.message}`);

  await gateway.close();
  await link.close();
  terminal?.close();
}

try {
  await main();
} catch (error) {
  if (!isSkillRunError(error, 'link_unavailable')) throw error;
  // Nothing runs anywhere else in its stead.
  console.error(`No skill can run on this machine: ${error.message}`);
  process.exitCode = 1;
}
