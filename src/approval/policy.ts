import type { StepFacts, StepRecord } from '../step/record.ts';

/** What a host's policy says of a step. */
export interface PolicyAnswer {
  readonly effect: 'allow' | 'ask' | 'deny';
  /** Why, for the person. */
  readonly reason?: string;
  /** The rule's id, for the record. */
  readonly rule?: string;
  /**
   * Whether the person may say "always" to it. Default `true`. With `false` the person is asked each time: no grant
   * of before answers in their stead.
   */
  readonly allowAlways?: boolean;
}

/** A step as policy sees it: facts of the verified skill and of the gateway, and the validated arguments. */
export type PolicyStep = Pick<StepRecord, 'owner' | 'run' | 'target' | 'session' | 'turn'>;

/** Where a step would run first: on a machine of the person's, in the pool, nowhere, or nobody knows now. */
export type FirstPlace = NonNullable<StepFacts['placement']>;

/** What the gateway knows besides the step: facts of its own, of the registry and of the session. */
export interface PolicyContext extends Omit<StepFacts, 'placement' | 'policy'> {
  /** Looks where it would run, once however often it is called and for at most 5 s. Never rejects. */
  placement(): Promise<FirstPlace>;
}

/**
 * The host's rule over steps, asked once a step. What it may do is narrow the gate: a `deny` beats a grant,
 * and an `allow` counts only for level `auto` and for a tool without network. When it throws, or answers
 * anything else, the step is refused.
 */
export type Policy = (step: PolicyStep, context: PolicyContext) => PolicyAnswer | Promise<PolicyAnswer>;

/** What stands after policy and level were heard. */
export type Ruling =
  | { readonly effect: 'allow'; readonly rule: string; readonly reason: string; readonly canAlways: boolean }
  | { readonly effect: 'ask'; readonly why: string; readonly canAlways: boolean }
  | { readonly effect: 'refuse'; readonly rule: string; readonly reason: string };

/** Hears the agent's level and the host's policy, once. Never throws, and never rules wider than either. */
export async function rule(
  step: PolicyStep,
  context: PolicyContext,
  policy: Policy | undefined,
): Promise<Ruling> {
  if (context.level === 'observe') {
    return {
      effect: 'refuse',
      rule: 'agent-observes',
      reason: 'This agent may look on only: it runs nothing.',
    };
  }
  if (policy === undefined)
    return { effect: 'ask', why: 'Every run of a skill is asked for.', canAlways: true };
  const answer = await hear(policy, step, context);
  if (answer === undefined) {
    return { effect: 'refuse', rule: 'policy-failed', reason: "The host's policy gave no valid answer." };
  }
  const reason = answer.reason ?? "The host's policy decided so.";
  const canAlways = answer.allowAlways ?? true;
  if (answer.effect === 'deny') return { effect: 'refuse', rule: answer.rule ?? 'policy', reason };
  if (answer.effect === 'ask') return { effect: 'ask', why: reason, canAlways };
  if (context.level !== 'auto') return { effect: 'ask', why: 'This agent asks for every step.', canAlways };
  if (step.run.net !== 'deny') {
    return { effect: 'ask', why: 'A tool with network runs only when a person says so.', canAlways };
  }
  return { effect: 'allow', rule: answer.rule ?? 'policy', reason, canAlways };
}

async function hear(
  policy: Policy,
  step: PolicyStep,
  context: PolicyContext,
): Promise<PolicyAnswer | undefined> {
  try {
    const { effect, reason, rule: id, allowAlways } = await policy(step, context);
    if (effect !== 'allow' && effect !== 'ask' && effect !== 'deny') return undefined;
    if (reason !== undefined && typeof reason !== 'string') return undefined;
    if (id !== undefined && typeof id !== 'string') return undefined;
    if (allowAlways !== undefined && typeof allowAlways !== 'boolean') return undefined;
    return {
      effect,
      ...(reason === undefined ? {} : { reason }),
      ...(id === undefined ? {} : { rule: id }),
      ...(allowAlways === undefined ? {} : { allowAlways }),
    };
  } catch {
    return undefined;
  }
}
