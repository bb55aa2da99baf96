import type { Policy } from '../approval/policy.ts';
import type { Clock } from '../clock.ts';
import { SkillRunError } from '../errors.ts';
import { withDeadline } from '../run/deadline.ts';

const policyMs = 10_000;

/** A policy that answers in time or fails: one that hangs would hold up its call, and all that came with it. */
export function inTime(policy: Policy, clock: Clock): Policy {
  return (step, told) => withDeadline({ clock, ms: policyMs, late }, async () => policy(step, told));
}

function late(): SkillRunError {
  return new SkillRunError(
    'policy_invalid',
    `The policy did not answer within ${policyMs} ms. Look after it.`,
  );
}
