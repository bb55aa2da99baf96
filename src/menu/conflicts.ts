import { canonicalJson, type Json } from '../skill/json.ts';
import type { ProblemReason, SkillProblem, VerifiedSkill } from '../skill/verify.ts';

/** Skills of which each version stands once, and why the others had to go. */
export interface Unambiguous {
  readonly skills: readonly VerifiedSkill[];
  readonly problems: readonly SkillProblem[];
}

// What a listing says against a version. Where another listing of it says less, the stricter stands.
const verdicts: ReadonlySet<ProblemReason> = new Set(['scan_failed', 'scan_unread', 'retired']);

/**
 * Leaves out every version that is installed more than once in different ways: with other content, with
 * another listing, or with a listing that says that it may not be used. Nobody can say which one was meant, and
 * the order of installing must not decide it. The same twice is one.
 *
 * @param failed the problems of what did not verify
 */
export function withoutConflicts(
  verified: readonly VerifiedSkill[],
  failed: readonly SkillProblem[],
): Unambiguous {
  const forbidden = new Set(
    failed.filter(({ reason }) => verdicts.has(reason)).map(({ slug, version }) => key(slug, version)),
  );
  const groups = new Map<string, VerifiedSkill[]>();
  for (const skill of verified) {
    const of = key(skill.slug, skill.version);
    groups.set(of, [...(groups.get(of) ?? []), skill]);
  }
  const skills: VerifiedSkill[] = [];
  const problems: SkillProblem[] = [];
  for (const [of, group] of groups) {
    const [first] = group as [VerifiedSkill];
    const ways = new Set(
      group.map(({ hash, listing }) => `${hash} ${canonicalJson(listing as unknown as Json)}`),
    );
    if (ways.size === 1 && !forbidden.has(of)) {
      skills.push(first);
    } else {
      const message = forbidden.has(of)
        ? 'This version is also installed with a listing that says that it may not be used.'
        : 'This version is installed twice, with other content or another listing. Remove all but the one you mean.';
      const { slug, version } = first;
      problems.push(
        ...group.map(() => ({ slug, version, reason: 'conflict', message, issues: [] }) as const),
      );
    }
  }
  return { skills, problems };
}

function key(slug: string | undefined, version: string | undefined): string {
  return JSON.stringify([slug, version]);
}
