import { randomHex } from '../ids.ts';
import type { Target } from '../run/place.ts';
import type { StepRecord } from '../step/record.ts';
import { isStepEnd } from '../step/transitions.ts';
import { moveOn } from './attempt.ts';
import type { GatewayContext } from './context.ts';
import { cancelStep } from './decide.ts';
import { closed, isCancelled, type Move, newLease, type Unknown } from './move.ts';
import { load, save } from './record.ts';

/** Where a step stands after this process has done what it could. */
export type Acted =
  | { readonly kind: 'pending'; readonly step: StepRecord }
  | { readonly kind: 'ended'; readonly step: StepRecord }
  | Unknown;

const leasePollMs = 250;

/**
 * Brings an approved step to its end, from wherever it stands: each move is read off the record and written
 * to it before the next one, so that this can go on in any process after a crash at any point.
 *
 * @param cancelled fires when nobody wants the result any more
 */
export async function act(context: GatewayContext, id: string, cancelled: AbortSignal): Promise<Acted> {
  const cancelJob = once((target, job) => requestCancel(context, target, job));
  const move: Move = {
    context,
    cancelled,
    holder: randomHex(8),
    unsent: new Set(),
    waited: new Map(),
    cancelJob,
  };
  for (;;) {
    const step = await load(context, id);
    if (step === undefined)
      return { kind: 'unknown', code: 'step-missing', message: 'The record of the step is gone.' };
    if (isStepEnd(step.state)) return { kind: 'ended', step };
    if (step.state === 'pending') return { kind: 'pending', step };
    if (context.closing.aborted) return closed;
    if (step.state === 'approved') {
      await takeLease(move, step);
    } else if (step.state === 'submitting' && step.lease?.holder !== move.holder) {
      await takeOver(move, step);
    } else {
      const unknown = await moveOn(move, step);
      if (unknown !== undefined) return unknown;
    }
  }
}

// So that one process alone submits it.
async function takeLease(move: Move, step: StepRecord): Promise<void> {
  const { context, holder } = move;
  if (isCancelled(move, step)) {
    await cancelStep(context, step, 'cancelled', 'Cancelled before it was submitted. Nothing ran.');
  } else {
    await save(context, step, { state: 'submitting', lease: newLease(context, holder) });
  }
}

// Another process submits it: wait for that, and take over when its lease has run out. A clock that was set back
// makes no lease longer.
async function takeOver({ context, holder, waited }: Move, step: StepRecord): Promise<void> {
  const key = JSON.stringify(step.lease);
  const ms = waited.get(key) ?? 0;
  if (step.lease !== null && context.clock.now() < step.lease.until && ms < context.leaseMs) {
    await context.clock.sleep(leasePollMs, AbortSignal.any([context.closing]));
    waited.set(key, ms + leasePollMs);
  } else {
    await save(context, step, { lease: newLease(context, holder) });
  }
}

function once(cancel: (target: Target, job: string) => void): Move['cancelJob'] {
  const sent = new Set<string>();
  return (target, job) => {
    if (sent.has(job)) return;
    sent.add(job);
    cancel(target, job);
  };
}

function requestCancel(context: GatewayContext, { service }: Target, job: string): void {
  // Without the gateway's own signal: closing it right after an abort does not take the request back.
  service.cancel(job, { person: context.person }).catch((error: unknown) => {
    context.events.emit('fault', { step: null, error });
  });
}
