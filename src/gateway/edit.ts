import { ArgumentsInvalid, EditRefused } from '../approval/decision.ts';
import { type Ruling, rule } from '../approval/policy.ts';
import { isoTime } from '../clock.ts';
import { validArguments } from '../skill/args/read.ts';
import { canonicalJson, deepFreeze, type JsonObject } from '../skill/json.ts';
import { digestOf } from '../step/digest.ts';
import type { StepRecord } from '../step/record.ts';
import type { StepEditChange } from '../step/transitions.ts';
import type { GatewayContext } from './context.ts';
import { gatherFacts } from './facts.ts';

/** What an edit changes of a step, and how policy ruled on the step so changed. */
export interface Edit {
  readonly change: StepEditChange;
  readonly ruling: Exclude<Ruling, { readonly effect: 'refuse' }>;
}

/**
 * What a person's own arguments make of a step; `undefined` where they are the step's own. Policy is heard
 * again, as it is another digest: what it refuses cannot be approved, and an allow is no more than the ask was.
 *
 * @param given the arguments, whole, as an object or its JSON text
 * @throws {@link ArgumentsInvalid}, {@link EditRefused}
 */
export async function readEdit(
  context: GatewayContext,
  step: StepRecord,
  given: unknown,
): Promise<Edit | undefined> {
  const args = editedArguments(context, step, given);
  if (canonicalJson(args) === canonicalJson(step.run.arguments)) return undefined;
  if (step.facts?.policy === true && context.policy === undefined) {
    throw new EditRefused('It was asked under a policy, and this gateway has none to hear over the change.');
  }
  const run = deepFreeze({ ...step.run, arguments: args });
  const digest = await digestOf(step.owner, run);
  const changed = deepFreeze({ ...step, run, digest });
  const { told } = await gatherFacts(context, changed, step.facts?.count.pending ?? 0);
  // As when it was asked: it is still the agent's step, whoever's page decides it, and is not counted itself.
  const { level, alone, count } = step.facts ?? told;
  const ruling = await rule(changed, { ...told, level, alone, count }, context.policy);
  if (ruling.effect === 'refuse') {
    throw new EditRefused(`The rule ${JSON.stringify(ruling.rule)} refuses it so: ${ruling.reason}`);
  }
  // The digest as the model asked, also where an edited step is asked for again.
  const asked = step.edited?.digest ?? step.digest;
  const edited = { digest: asked, by: context.person.subject, at: isoTime(context.clock.now()) };
  return { change: { run, digest, edited }, ruling };
}

function editedArguments(context: GatewayContext, { run }: StepRecord, given: unknown): JsonObject {
  const entry = context.skills.findTool(run.slug, run.version, run.tool);
  if (entry === undefined || entry.skill.hash !== run.hash) {
    throw new EditRefused('The skill is no longer installed as it was, so no arguments can be validated.');
  }
  // A model may call a tool with no text at all; a form that a person left empty is not his word.
  const whole = typeof given === 'string' && given.trim() === '' ? null : given;
  const verdict = validArguments(entry.tool.validator, whole);
  if (!verdict.ok) throw new ArgumentsInvalid(verdict.errors);
  return verdict.value;
}
