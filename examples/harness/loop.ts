// What a harness has of its own: a model, a person, and a way to ask them. Here all three are scripted.
import type { ApprovalRequest, Decision } from 'openvibe-skill-run';
import { createScriptedModel } from 'openvibe-skill-run/testing';

export const person = {
  subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ',
  project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ',
};

// A menu name is stable: it depends on the skill's slug and version and on the tool, and on nothing else.
export const model = createScriptedModel([
  [{ id: 'call_1', name: 'slugify_slugify-a-title_be9hjsepez7s', arguments: '{"title":"Hello, World!"}' }],
  'Your slug is hello-world.',
]);

export async function askPerson(_request: ApprovalRequest): Promise<Decision> {
  return { decision: 'approve' };
}
