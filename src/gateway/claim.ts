import { digestOf } from '../step/digest.ts';
import type { StepRecord } from '../step/record.ts';
import { grantKeyOf, grantScopeOf } from '../store/grant.ts';
import type { GatewayContext } from './context.ts';
import { cancelStep, expireIfDue } from './decide.ts';
import { isCancelled, type Move, newLease } from './move.ts';
import { summaryOf } from './outcome.ts';
import { audit, finish, save } from './record.ts';
import { runOf } from './resolve.ts';

/**
 * Takes an approved step for this process, so that one process alone submits it. Before that, everything
 * that was true at the decision is looked at again; where it is no longer true, the step ends or is asked again.
 * The step has changed in any case when this returns.
 */
export async function claim(move: Move, step: StepRecord): Promise<void> {
  const { context, holder } = move;
  if (isCancelled(move, step)) {
    await cancelStep(context, step, 'cancelled', 'Cancelled before it was submitted. Nothing ran.');
  } else if (await expireIfDue(context, step)) {
    return;
  } else if (!(await isUnchanged(context, step))) {
    const message = 'The skill has changed since approval, or is no longer usable. Nothing ran.';
    await finish(context, step, 'ended', { status: 'skill_unavailable', executed: false, message });
  } else if (step.decision?.via === 'grant' && !(await grantStands(context, step))) {
    await askAgain(context, step);
  } else {
    await save(context, step, { state: 'submitting', lease: newLease(context, holder) });
  }
}

// The digest is made again from the skills of this moment: description, args, code, net and limits are all in it.
async function isUnchanged(context: GatewayContext, step: StepRecord): Promise<boolean> {
  const { slug, version, tool, arguments: args } = step.run;
  const entry = context.skills.findTool(slug, version, tool);
  if (entry === undefined || step.decision?.effect !== 'approve') return false;
  const now = await digestOf(step.owner, runOf(context, entry, args));
  return now === step.digest && (await digestOf(step.owner, step.run)) === step.digest;
}

async function grantStands(context: GatewayContext, step: StepRecord): Promise<boolean> {
  const grant = await context.store.grants.find(await grantKeyOf(grantScopeOf(step)));
  return grant !== undefined;
}

async function askAgain(context: GatewayContext, step: StepRecord): Promise<void> {
  await audit(context, 'ask', step, { status: 'grant-revoked' });
  const asked = await save(context, step, {
    state: 'pending',
    decision: null,
    why: 'The "always" that covered it was revoked.',
    expiresAt: context.clock.now() + context.approvalExpiryMs,
  });
  if (asked !== undefined) context.events.emit('step-pending', { step: summaryOf(asked) });
}
