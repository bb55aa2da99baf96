import type { ModelCall } from '../../src/gateway/resolve.ts';
import { type SkillSet, verifySkills } from '../../src/menu/skill-set.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { readySkills } from '../../src/testing/skills.ts';
import type { Asked } from './evidence.ts';

/** The agent of every process. */
export const agentId = 'agt_01JAB2C3D4E5F6G7H8J9K0MNPQ';
export const token = 'secret-token-of-the-host';

/** The skills of every process, installed an hour before anything happens. */
export function chaosSkills(): Promise<SkillSet> {
  const clock = createManualClock(Date.UTC(2025, 11, 31, 23));
  return verifySkills([readySkills.slugify, readySkills.fetchTitle], { clock });
}

/** The call after everything: it has no room in the allowance, so what others left held is looked after. */
export const lastCall = 9;
/** Calls of the same work as the first. */
export const sameAsFirst = [10, 20, 30, 40] as const;

/** The model's call of that number: the second is of a tool with a network, the others of one without. */
export function callOf(skills: SkillSet, number: number): ModelCall {
  const id = `c${number}`;
  return number === 1
    ? { id, name: nameOf(skills, 'fetch_title'), arguments: { url: 'https://example.org/' } }
    : { id, name: nameOf(skills, 'slugify'), arguments: { title: `Title ${number % 10}` } };
}

function nameOf(skills: SkillSet, tool: string): string {
  const found = skills.menu.tools.find(({ name }) => skills.find(name)?.tool.name === tool);
  if (found === undefined) throw new Error(`No tool ${tool} in the menu.`);
  return found.name;
}

/** What each call asks for, taken from the call and the skill's listing. */
export function askedOf(skills: SkillSet): ReadonlyMap<string, Asked> {
  const all = [0, 1, 2, lastCall, ...sameAsFirst].map((number): [string, Asked] => {
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
