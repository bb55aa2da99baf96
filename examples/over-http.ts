// A Run over HTTP. Here it is the local Run of this machine; on the platform only the two URLs differ.
import { createRunService, createSkillGateway, modelText, verifySkills } from 'openvibe-skill-run';
import { startLocalRun } from 'openvibe-skill-run/link';
import { readySkills } from 'openvibe-skill-run/testing';

const person = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
const skills = await verifySkills([readySkills.slugify]);
const code = skills.skills.flatMap((skill) => skill.pins);

//#region over-http
const local = await startLocalRun({
  owner: person.subject,
  skills: 'on',
  media: async (mediaId) => {
    const pin = code.find((one) => one.mediaId === mediaId);
    return pin && new TextEncoder().encode(pin.text);
  },
});

const run = createRunService({
  baseUrl: local.url, // on the platform: leave it out
  id: local.link.id, // on the platform: leave it out; this Run forgets its jobs with this process
  token: async () => local.token, // called before each request, so that it never goes stale
  nodes: { nodes: (context) => local.link.nodes(context) }, // on the platform: createNodeDirectory({ ownNodes })
});
const gateway = createSkillGateway({ person, skills, run, approver: async () => ({ decision: 'approve' }) });
const name = skills.menu.tools[0]?.name ?? '';
const outcome = await gateway.call({ id: 'call_1', name, arguments: '{"title":"Over HTTP"}' });
console.log(modelText(outcome));
//#endregion

if (outcome.status !== 'completed') throw new Error(`The step did not run: ${outcome.message}`);
await gateway.close();
await local.close();
