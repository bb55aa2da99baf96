import * as z from 'zod/mini';
import { SkillRunError } from '../../errors.ts';
import { dateTime, form, text } from '../../skill/fields.ts';
import { quoteName } from '../../skill/issue.ts';
import { fromZodIssues } from '../../skill/zod-issues.ts';

/** One rule of a host, as plain data: it can stand in a JSON file. */
export interface PolicyRule {
  /** 1 to 64 letters, digits, `.`, `_` and `-`: stands in outcomes, in the audit and in the step's record. */
  readonly id: string;
  readonly effect: 'allow' | 'ask' | 'deny';
  /** A CEL expression that says whether the rule speaks to a step; 1 to 2000 characters. */
  readonly when: string;
  /** Why, for the person and the model: 1 to 500 characters. */
  readonly reason: string;
  /**
   * Whether the person may say "always" to a step that the rule speaks to, and a grant of before answers it.
   * Default `true`; not with `deny`.
   */
  readonly allowAlways?: boolean | undefined;
  /** RFC 3339. From then on it is as if there were no such rule, whatever its effect. Default: never. */
  readonly expires?: string | undefined;
}

/** The most rules of one policy. */
const maxRules = 200;

const ruleSchema: z.ZodMiniType<PolicyRule> = z.strictObject({
  id: form(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 64),
  effect: z.enum(['allow', 'ask', 'deny']),
  when: text(1, 2000),
  reason: text(1, 500),
  allowAlways: z.optional(z.boolean()),
  expires: z.optional(dateTime),
});

/** A rule that cannot be loaded: its name, what is wrong, and what to do. */
export function policyInvalid(rule: string, what: string, remedy: string): SkillRunError {
  return new SkillRunError('policy_invalid', `The policy's ${rule}: ${what} ${remedy}`);
}

/** A rule's name in a message. */
export function ruleName({ id }: Pick<PolicyRule, 'id'>): string {
  return `rule ${quoteName(id)}`;
}

/**
 * Reads rules strictly: what is not understood is not passed over.
 *
 * @throws `policy_invalid`
 */
export function readRules(given: unknown): readonly PolicyRule[] {
  if (!Array.isArray(given) || given.length > maxRules) {
    throw policyInvalid(
      'rules',
      `must be a list of at most ${maxRules} rules.`,
      'Pass the rules as an array.',
    );
  }
  const ids = new Set<string>();
  return given.map((one: unknown, at) => {
    const read = ruleSchema.safeParse(one);
    if (!read.success) {
      const issue = fromZodIssues(read.error.issues)[0];
      const where = issue?.path ? ` at ${issue.path}` : '';
      throw policyInvalid(
        nameOf(one, at),
        `is invalid${where}: ${issue?.message ?? ''}`,
        'Correct the rule.',
      );
    }
    const rule = read.data;
    if (ids.has(rule.id)) {
      throw policyInvalid(ruleName(rule), 'has the id of another rule.', 'Give each its own.');
    }
    ids.add(rule.id);
    if (rule.effect === 'deny' && rule.allowAlways !== undefined) {
      throw policyInvalid(
        ruleName(rule),
        'has allowAlways, which says nothing with the effect deny.',
        'Leave it out.',
      );
    }
    return rule;
  });
}

function nameOf(given: unknown, at: number): string {
  const id: unknown =
    typeof given === 'object' && given !== null ? (given as { id?: unknown }).id : undefined;
  return typeof id === 'string' ? ruleName({ id }) : `rule at ${at}`;
}
