import type { FirstPlace } from '../approval/policy.ts';
import { SkillRunError } from '../errors.ts';
import { withDeadline } from '../run/deadline.ts';
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

/** Milliseconds that anybody waits at most to know it: a service that hangs keeps no person from deciding. */
const lookMs = 5000;

/** Looks where a step would run now. Rejects as `planPlacement` does, and with `run_unreachable` after 5 s. */
export async function lookWhere(context: GatewayContext, step: StepRecord): Promise<Where> {
  const { person, signal } = runContext(context);
  const look = (own: AbortSignal) =>
    planPlacement(context.services, { net: step.run.net, context: { person, signal: own } });
  const { targets, failures } = await withDeadline({ clock: context.clock, ms: lookMs, signal, late }, look);
  const errors = failures.map(({ error }) => error);
  // A Link that cannot open its sandbox has answered: it is no machine. Any other failure leaves it open.
  const isOpen = errors.some(({ code }) => code !== 'link_unavailable');
  return { first: targets[0]?.tier ?? (isOpen ? 'unknown' : 'none'), targets, errors };
}

function late(): SkillRunError {
  const message = `The machines could not be looked up within ${lookMs} ms. Look after the Run.`;
  return new SkillRunError('run_unreachable', message, { retryable: true });
}
