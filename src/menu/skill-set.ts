import { type Clock, systemClock } from '../clock.ts';
import { SkillRunError } from '../errors.ts';
import { deepFreeze } from '../skill/json.ts';
import { visible } from '../skill/text.ts';
import {
  type InstalledSkill,
  type SkillProblem,
  type VerifiedSkill,
  type VerifiedTool,
  verifySkill,
} from '../skill/verify.ts';
import { withoutConflicts } from './conflicts.ts';
import { buildGuidance, type Guidance } from './guidance.ts';
import { type InputSchema, inputSchema } from './input-schema.ts';
import { menuName } from './names.ts';
import { netWords } from './words.ts';

/** One tool as a model sees it. */
export interface MenuTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
}

/** What a model may call, and what of the installed skills had to be left out. */
export interface Menu {
  /** Sorted by name, in code unit order. */
  readonly tools: readonly MenuTool[];
  readonly problems: readonly SkillProblem[];
}

/** What a menu name stands for. */
export interface MenuEntry {
  readonly skill: VerifiedSkill;
  readonly tool: VerifiedTool;
  readonly menu: MenuTool;
}

/** Installed skills, verified once: immutable, shared by any number of gateways. */
export interface SkillSet {
  readonly skills: readonly VerifiedSkill[];
  readonly menu: Menu;
  readonly guidance: Guidance;
  readonly problems: readonly SkillProblem[];
  /** When it was verified, in milliseconds since 1970: its listings count as seen then. */
  readonly verifiedAt: number;
  /** Looks a menu name up. */
  find(name: string): MenuEntry | undefined;
  /** Looks a tool up by what a step records of it. */
  findTool(slug: string, version: string, tool: string): MenuEntry | undefined;
}

/** How {@link verifySkills} treats what cannot be in the menu. */
export interface VerifyOptions {
  /** Throw on the first problem instead of reporting it. Default `false`. */
  strict?: boolean;
  /** Says when this is: the listings should be of now. Default: the machine's clock. */
  clock?: Clock;
}

/**
 * Verifies installed skills and builds the menu of their tools. Call it once: what it returns is shared.
 *
 * A skill that does not verify, or a tool that cannot be named to every provider, is left out and stands in
 * `problems`; it never hides another. The same list in any order, in any locale, gives the same bytes.
 *
 * @throws `skill_invalid` with `strict`, when anything had to be left out
 */
export async function verifySkills(
  installed: readonly InstalledSkill[],
  options: VerifyOptions = {},
): Promise<SkillSet> {
  const verifiedAt = (options.clock ?? systemClock).now();
  const results = await Promise.all(installed.map((entry) => verifySkill(entry)));
  const problems = results.flatMap((result) => (result.ok ? [] : [result.problem]));
  const verified = results.flatMap((result) => (result.ok ? [result.skill] : []));
  const unambiguous = withoutConflicts(verified, problems);
  problems.push(...unambiguous.problems);
  const skills = unambiguous.skills.toSorted(byKey((skill) => JSON.stringify([skill.slug, skill.version])));

  const made: MenuEntry[] = [];
  for (const skill of skills) {
    for (const tool of skill.tools) {
      const menu = await menuTool(skill, tool);
      if (typeof menu === 'string') problems.push(leftOut(skill, tool, menu));
      else made.push(deepFreeze({ menu, skill, tool }));
    }
  }
  const entries = made.filter(
    ({ menu }) => made.filter((other) => other.menu.name === menu.name).length === 1,
  );
  for (const { skill, tool } of made.filter((entry) => !entries.includes(entry))) {
    // Somebody searched for two tools of one name; a provider would refuse the whole menu for it.
    problems.push(leftOut(skill, tool, 'Its menu name is that of another tool.'));
  }
  problems.sort(byKey((problem) => JSON.stringify(problem)));
  if (options.strict === true && problems[0] !== undefined) {
    throw new SkillRunError('skill_invalid', `An installed skill cannot be used: ${problems[0].message}`);
  }
  return skillSet(skills, entries.sort(byKey((entry) => entry.menu.name)), problems, verifiedAt);
}

function skillSet(
  skills: readonly VerifiedSkill[],
  entries: readonly MenuEntry[],
  problems: readonly SkillProblem[],
  verifiedAt: number,
): SkillSet {
  const byName = new Map(entries.map((entry) => [entry.menu.name, entry]));
  const toolKey = (slug: string, version: string, tool: string) => JSON.stringify([slug, version, tool]);
  const byTool = new Map(
    entries.map((entry) => [toolKey(entry.skill.slug, entry.skill.version, entry.tool.name), entry]),
  );
  return Object.freeze({
    skills: Object.freeze(skills),
    menu: deepFreeze({ tools: entries.map((entry) => entry.menu), problems }),
    guidance: Object.freeze(buildGuidance(skills)),
    problems,
    verifiedAt,
    find: (name: string) => byName.get(name),
    findTool: (slug: string, version: string, tool: string) => byTool.get(toolKey(slug, version, tool)),
  });
}

async function menuTool(skill: VerifiedSkill, tool: VerifiedTool): Promise<MenuTool | string> {
  const schema = inputSchema(tool.args);
  if (!schema.ok) return schema.message;
  const { slug, version } = skill;
  return {
    name: await menuName(slug, version, tool.name),
    // The skill's words stand last, so that nothing in them can pass for ours.
    description: `Runs a skill's code in a sandbox (${netWords[tool.net]}). ${slug}@${version} says: ${visible(tool.description)}`,
    inputSchema: schema.schema,
  };
}

function leftOut({ slug, version }: VerifiedSkill, tool: VerifiedTool, message: string): SkillProblem {
  return { slug, version, tool: tool.name, reason: 'not_nameable', message, issues: [] };
}

function byKey<T>(key: (value: T) => string): (a: T, b: T) => number {
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
}
