import type { FirstPlace } from '../approval/policy.ts';
import type { SkillRunError } from '../errors.ts';
import { planPlacement, type Target } from '../run/place.ts';
import type { StepRecord } from '../step/record.ts';
import type { GatewayContext } from './context.ts';
import { runContext } from './move.ts';

/** Where a step would run now. */
export interface Where {
  readonly first: FirstPlace;
  readonly targets: readonly Target[];
  /** Why services could not be looked up. */
  readonly errors: readonly SkillRunError[];
}

/** Looks where a step would run now. Rejects as `planPlacement` does. */
export async function lookWhere(context: GatewayContext, step: StepRecord): Promise<Where> {
  const { targets, failures } = await planPlacement(context.services, {
    net: step.run.net,
    context: runContext(context),
  });
  const errors = failures.map(({ error }) => error);
  // A Link that cannot open its sandbox has answered: it is no machine. Any other failure leaves it open.
  const isOpen = errors.some(({ code }) => code !== 'link_unavailable');
  return { first: targets[0]?.tier ?? (isOpen ? 'unknown' : 'none'), targets, errors };
}
