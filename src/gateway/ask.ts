import { type Approver, isDecision } from '../approval/decision.ts';
import { type ApprovalRequest, approvalRequest } from '../approval/request.ts';
import { type ErrorCode, isSkillRunError } from '../errors.ts';
import type { StepRecord } from '../step/record.ts';
import type { GatewayContext } from './context.ts';
import { applyDecision, cancelStep } from './decide.ts';
import { load } from './record.ts';
import { lookWhere } from './where.ts';

// What an approver may have said that cannot be done: asked again, it would say it again.
const undecidable: ReadonlySet<ErrorCode> = new Set([
  'always_not_allowed',
  'arguments_invalid',
  'edit_refused',
]);
/** Milliseconds after which the record is looked at again: what another process decides is told to nobody here. */
const lookMs = 1000;
const notKnown = 'not known now: the machines could not be looked up';

/** A step as the person has to see it, with where it would run now. */
export async function requestFor(context: GatewayContext, step: StepRecord) {
  const entry = context.skills.findTool(step.run.slug, step.run.version, step.run.tool);
  const same = entry?.skill.hash === step.run.hash ? entry : undefined;
  return approvalRequest(step, same, await whereInWords(context, step));
}

async function whereInWords(context: GatewayContext, step: StepRecord): Promise<string> {
  try {
    const { first, targets, errors } = await lookWhere(context, step);
    const places = targets.map(({ tier, nodes }) => {
      const names = nodes
        .slice(0, 3)
        .map((node) => (node.detail ? `${node.node} (${node.detail})` : node.node));
      const more = nodes.length > names.length ? ` and ${nodes.length - names.length} more` : '';
      return `${tier === 'own' ? 'your own machine' : "OpenVibe's pool"}: ${names.join(', ')}${more}`;
    });
    if (places.length > 0) return places.join('; otherwise ');
    if (first === 'unknown') return notKnown;
    return ['nowhere: no machine can run it now', ...errors.map(({ message }) => message)].join('. ');
  } catch (error) {
    if (!isSkillRunError(error)) throw error;
    return notKnown;
  }
}

/**
 * Asks the approver about a pending step, and returns when the step may have changed: the approver has
 * answered, somebody else has decided (in any process), its time is over, or the wait was called off.
 */
export async function ask(
  context: GatewayContext,
  step: StepRecord,
  approver: Approver<ApprovalRequest>,
  cancelled: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const end = (): void => over.abort();
  const subscription = context.changed.on(step.id, end);
  const outer = AbortSignal.any([cancelled, context.closing]);
  if (outer.aborted) end();
  else outer.addEventListener('abort', end, { once: true });
  try {
    // A decision may have come before anyone listened.
    if ((await load(context, step.id))?.revision !== step.revision) return;
    const answered = answer(context, step, approver, over.signal);
    await Promise.race([answered, changedElsewhere(context, step, over.signal)]);
  } finally {
    end();
    subscription();
    outer.removeEventListener('abort', end);
  }
}

// Settles when the step is not as it was, or its time is over, or the wait is.
async function changedElsewhere(context: GatewayContext, step: StepRecord, over: AbortSignal): Promise<void> {
  for (let left = leftOf(context, step); left > 0; left = leftOf(context, step)) {
    try {
      await context.clock.sleep(Math.min(lookMs, left), over);
    } catch {
      return;
    }
    // A store that cannot be read now tells nothing, and is asked again.
    const now = await load(context, step.id).catch(() => step);
    if (now?.revision !== step.revision) return;
  }
}

function leftOf({ clock }: GatewayContext, { expiresAt }: StepRecord): number {
  return expiresAt - clock.now();
}

async function answer(
  context: GatewayContext,
  step: StepRecord,
  approver: Approver<ApprovalRequest>,
  over: AbortSignal,
): Promise<void> {
  let decision: unknown;
  try {
    decision = await approver(await requestFor(context, step), { signal: over });
  } catch (error) {
    context.events.emit('fault', { step: step.id, error });
  }
  if (over.aborted) return;
  const current = await load(context, step.id);
  if (current === undefined || current.state !== 'pending') return;
  if (!isDecision(decision)) {
    await cancelStep(
      context,
      current,
      'no_approver',
      'There was nobody to ask: the approver gave no valid decision. Nothing ran.',
    );
    return;
  }
  try {
    await applyDecision(context, current, decision);
  } catch (error) {
    if (isSkillRunError(error, 'step_already_decided') || isSkillRunError(error, 'step_expired')) return;
    if (!isSkillRunError(error) || !undecidable.has(error.code)) throw error;
    await cancelStep(
      context,
      current,
      'no_approver',
      `${error.message} Nothing was decided and nothing ran.`,
    );
  }
}
