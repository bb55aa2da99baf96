import { isWithin } from '../skill/caps.ts';
import { digestOf } from '../step/digest.ts';
import type { StepRecord, StepRun } from '../step/record.ts';
import { type Grant, grantKeyOf, grantScopeOf } from '../store/grant.ts';
import { releaseHold } from './allowance.ts';
import type { GatewayContext } from './context.ts';
import { expire } from './decide.ts';
import { summaryOf } from './outcome.ts';
import { audit, finish, save } from './record.ts';
import { findUnlisted, type Unlisted } from './registry.ts';
import { runOf } from './resolve.ts';

/** Whether a decision still stands at the submit, or why not. `now`: what the clock showed. */
export type Standing = { readonly why: 'stands'; readonly now: number } | Fallen;
export type Fallen =
  | { readonly why: 'expired'; readonly now: number }
  | { readonly why: 'changed' | 'revoked' }
  | Unlisted;

/** Looks again at everything that was true at the decision. */
export async function lookAgain(context: GatewayContext, step: StepRecord): Promise<Standing> {
  // First, as it may take seconds: what is looked at after it is of the moment of the submit.
  const unlisted = await findUnlisted(context, step);
  const isSame = await isUnchanged(context, step);
  const revoked = await isRevoked(context, step);
  // Last, as time goes on over all the others.
  const now = context.clock.now();
  if (now >= step.expiresAt) return { why: 'expired', now };
  if (!isSame) return { why: 'changed' };
  if (unlisted !== undefined) return unlisted;
  return revoked ? { why: 'revoked' } : { why: 'stands', now };
}

/** Whether a grant approved the step that is no longer there. */
export async function isRevoked(context: GatewayContext, step: StepRecord): Promise<boolean> {
  return step.decision?.via === 'grant' && (await findGrant(context, step)) === undefined;
}

/** Ends a step whose decision no longer stands, or asks again. Nothing of it is at any Run. */
export async function fall(context: GatewayContext, step: StepRecord, fallen: Fallen): Promise<void> {
  const unavailable = { status: 'skill_unavailable', executed: false } as const;
  if (fallen.why === 'unlisted' || fallen.why === 'registry-down') {
    const { code, message } = fallen;
    await finish(context, step, 'ended', { ...unavailable, code, message });
  } else if (fallen.why === 'changed') {
    const message = 'The skill has changed since approval, or is no longer usable. Nothing ran.';
    await finish(context, step, 'ended', { ...unavailable, message });
  } else if (fallen.why === 'expired') {
    await expire(context, step, fallen.now);
  } else {
    await askAgain(context, step);
  }
}

// The digest is made again from the skills of this moment: description, args, code, net and limits are all in it.
async function isUnchanged(context: GatewayContext, step: StepRecord): Promise<boolean> {
  const { slug, version, tool, arguments: args } = step.run;
  const entry = context.skills.findTool(slug, version, tool);
  if (entry === undefined || step.decision?.effect !== 'approve') return false;
  const now = asNarrow(runOf(context, entry, args), step.run);
  return (
    (await digestOf(step.owner, now)) === step.digest &&
    (await digestOf(step.owner, step.run)) === step.digest
  );
}

// What was approved may be narrower than what this gateway would ask for: then it stays as narrow.
function asNarrow(now: StepRun, { net, limits }: StepRun): StepRun {
  const fits =
    isWithin(net, now.net) &&
    limits.wall_ms <= now.limits.wall_ms &&
    limits.mem_bytes <= now.limits.mem_bytes;
  return fits ? { ...now, net, limits } : now;
}

/** The grant that covers the step, where a person made one and has not revoked it. */
export async function findGrant(context: GatewayContext, step: StepRecord): Promise<Grant | undefined> {
  return context.store.grants.find(await grantKeyOf(grantScopeOf(step)));
}

/** A grant for the same tool of the same version, of before it was published again with a wider net. */
export async function findNarrower(context: GatewayContext, step: StepRecord): Promise<Grant | undefined> {
  const { owner, run } = step;
  // The narrowest of all is wider than none: no need to look.
  if (run.net === 'deny') return undefined;
  return (await context.store.grants.list(context.scope)).find(
    ({ scope }) =>
      scope.agent === owner.agent &&
      scope.slug === run.slug &&
      scope.version === run.version &&
      scope.tool === run.tool &&
      scope.hash !== run.hash &&
      !isWithin(run.net, scope.net),
  );
}

async function askAgain(context: GatewayContext, step: StepRecord): Promise<void> {
  await audit(context, 'ask', step, { status: 'grant-revoked' });
  const asked = await save(context, step, {
    state: 'pending',
    decision: null,
    why: 'The "always" that covered it was revoked.',
    expiresAt: context.clock.now() + context.approvalExpiryMs,
    lease: null,
    hold: null,
    attempts: step.attempts,
  });
  if (asked === undefined) return;
  await releaseHold(context, step, 0);
  context.events.emit('step-pending', { step: summaryOf(asked) });
}
