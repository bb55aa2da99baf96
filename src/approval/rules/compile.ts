import { type Clock, systemClock } from '../../clock.ts';
import type { SkillRunError } from '../../errors.ts';
import { maxJsonBytes } from '../../skill/caps.ts';
import { utf8 } from '../../skill/sha256.ts';
import type { PolicyAnswer, PolicyContext, PolicyStep } from '../policy.ts';
import { createCompiler, type Expression } from './expression.ts';
import { type PolicyRule, policyInvalid, readRules, ruleName } from './rule.ts';
import { valuesOf } from './variables.ts';

/** How rules are compiled. */
export interface RuleOptions {
  /** What `expires` is compared with, and what an evaluation is timed by. Default: the machine's clock. */
  clock?: Clock;
}

/** What rules said to a step, and which of them. Nothing of the step stands in it. */
export interface Explanation {
  readonly answer: PolicyAnswer;
  /** The ids of the rules whose `when` held. */
  readonly matched: readonly string[];
  /** The ids of those that could not be evaluated: a deny refuses, an ask asks, an allow does not allow. */
  readonly broken: readonly string[];
  /** The ids of those that are over. */
  readonly expired: readonly string[];
}

/** A policy made of rules. */
export interface RulePolicy {
  (step: PolicyStep, context: PolicyContext): Promise<PolicyAnswer>;
  /**
   * A dry run: what the policy would say, and why.
   *
   * @throws `policy_invalid` when the rules take too long together, as the policy itself does
   */
  explain(step: PolicyStep, context: PolicyContext): Promise<Explanation>;
}

interface Compiled {
  readonly rule: PolicyRule;
  readonly when: Expression;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** Most milliseconds that all rules together may take over one step. They hold the process for that time. */
const maxEvaluationMs = 2000;

/**
 * Compiles a host's rules into a {@link Policy}. Deny stands over ask, ask over allow; where no rule speaks to
 * a step, it is asked for. A rule that cannot be evaluated never lets more through than one that can. All rules
 * together have 2 seconds for a step, looked at before each rule, each step of a loop and each match: then the
 * policy gives no answer, and the gateway refuses the step (`policy-failed`).
 *
 * @param rules plain data, at most 200: {@link PolicyRule}
 * @throws `policy_invalid` for the first rule that cannot be loaded, with its id, the position and the remedy
 */
export async function compileRules(
  rules: readonly PolicyRule[],
  { clock = systemClock }: RuleOptions = {},
): Promise<RulePolicy> {
  const compile = createCompiler();
  const compiled: Compiled[] = [];
  for (const rule of readRules(rules)) {
    const when = await compile(rule.when);
    if ('what' in when) {
      const remedy = 'Correct the expression.';
      throw policyInvalid(ruleName(rule), `"when" at character ${when.at + 1} ${when.what}`, remedy);
    }
    // A leap second, which the language's own dates do not know, ends with the second before it.
    const until = Date.parse((rule.expires ?? '').toUpperCase().replace(/:60/, ':59'));
    compiled.push({ rule, when, until: rule.expires === undefined ? Number.POSITIVE_INFINITY : until });
  }

  const explain = async (step: PolicyStep, context: PolicyContext): Promise<Explanation> => {
    const now = clock.now();
    const current = compiled.filter(({ until }) => now < until);
    const expired = compiled.filter(({ until }) => now >= until).map(({ rule }) => rule.id);
    const asks = current.some(({ when }) => when.usesPlacement);
    const placement = asks ? await context.placement() : 'unknown';
    const isTooLong = utf8(JSON.stringify(step.run.arguments)).length > maxJsonBytes;
    const values = isTooLong ? undefined : valuesOf(step, context, placement);
    const isInTime = countdown(clock);
    const heard = current.map(({ rule, when }) => {
      const held = values !== undefined && isInTime() ? when.holds(values, isInTime) : undefined;
      return { rule, held };
    });
    // Whatever came of it: CEL passes over a part that throws, so no rule can be believed.
    if (!isInTime()) throw tooSlow();
    const matched = heard.filter(({ held }) => held === true).map(({ rule }) => rule);
    const broken = heard.filter(({ held }) => held === undefined).map(({ rule }) => rule);
    return { answer: answerOf(matched, broken), matched: idsOf(matched), broken: idsOf(broken), expired };
  };
  const policy = async (step: PolicyStep, context: PolicyContext) => (await explain(step, context)).answer;
  return Object.assign(policy, { explain });
}

/** Whether there is time left; once there is none, there never is again. */
function countdown(clock: Clock): () => boolean {
  const until = clock.now() + maxEvaluationMs;
  let isInTime = true;
  return () => {
    isInTime &&= clock.now() < until;
    return isInTime;
  };
}

function tooSlow(): SkillRunError {
  const remedy = 'Use fewer rules, or fewer loops and matches over long arguments.';
  return policyInvalid('rules', `took more than ${maxEvaluationMs} ms over one step.`, remedy);
}

function answerOf(matched: readonly PolicyRule[], broken: readonly PolicyRule[]): PolicyAnswer {
  const speaking = [...matched, ...broken];
  const denying = speaking.find(({ effect }) => effect === 'deny');
  const asking = speaking.find(({ effect }) => effect === 'ask');
  // A broken rule that would allow says nothing.
  const allowing = matched.find(({ effect }) => effect === 'allow');
  const stands = denying ?? asking ?? allowing;
  if (stands === undefined) return { effect: 'ask', reason: 'No rule of the host speaks to it.' };
  const reason = broken.includes(stands)
    ? `${stands.reason} (The rule could not be evaluated, so it is held to.)`
    : stands.reason;
  const allowAlways = speaking.every((rule) => rule.allowAlways !== false);
  return { effect: stands.effect, rule: stands.id, reason, ...(stands !== denying && { allowAlways }) };
}

function idsOf(rules: readonly PolicyRule[]): string[] {
  return rules.map(({ id }) => id);
}
