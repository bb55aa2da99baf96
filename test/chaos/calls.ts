import type { ModelCall } from '../../src/gateway/resolve.ts';
import { type SkillSet, verifySkills } from '../../src/menu/skill-set.ts';
import { readySkills } from '../../src/testing/skills.ts';
import type { Asked } from './evidence.ts';

/** The agent of every process. */
export const agentId = 'agt_01JAB2C3D4E5F6G7H8J9K0MNPQ';
export const token = 'secret-token-of-the-host';

/** The skills of every process. */
export function chaosSkills(): Promise<SkillSet> {
  return verifySkills([readySkills.slugify, readySkills.fetchTitle]);
}

/** How many different calls there are. */
const calls = 3;

/** The model's call of that number: the first and the last are of one tool, the second of one with a network. */
export function callOf(skills: SkillSet, number: number): ModelCall {
  const id = `c${number}`;
  return number === 1
    ? { id, name: nameOf(skills, 'fetch_title'), arguments: { url: 'https://example.org/' } }
    : { id, name: nameOf(skills, 'slugify'), arguments: { title: `Title ${number}` } };
}

function nameOf(skills: SkillSet, tool: string): string {
  const found = skills.menu.tools.find(({ name }) => skills.find(name)?.tool.name === tool);
  if (found === undefined) throw new Error(`No tool ${tool} in the menu.`);
  return found.name;
}

/** What each call asks for, taken from the call and the skill's listing. */
export function askedOf(skills: SkillSet): ReadonlyMap<string, Asked> {
  const all = Array.from({ length: calls }, (_, number): [string, Asked] => {
    const call = callOf(skills, number);
    const entry = skills.find(call.name);
    if (entry === undefined) throw new Error(`No tool ${call.name} in the menu.`);
    const asked: Asked = {
      tool: entry.tool.name,
      entry: entry.tool.entry,
      arguments: call.arguments as Asked['arguments'],
      egress: number === 1 ? 'public' : 'none',
      code: entry.skill.pins.map(({ sha256 }) => sha256).sort(),
    };
    return [call.id ?? '', asked];
  });
  return new Map(all);
}
