import { isSkillRunError } from '../errors.ts';
import type { StepRecord } from '../step/record.ts';
import { isStepEnd } from '../step/transitions.ts';
import { type Acted, act } from './act.ts';
import { ask } from './ask.ts';
import type { GatewayContext } from './context.ts';
import { cancelStep, expireIfDue, unlessNobody } from './decide.ts';
import { closed, isUnsent } from './move.ts';
import { audit, load, save } from './record.ts';

/** One step on its way in this process; every caller that waits for the step shares it. */
interface Drive {
  readonly acted: Promise<Acted>;
  readonly cancelled: AbortController;
}

/** The drives of one gateway. */
export interface Drives {
  /**
   * Waits until the step has ended or cannot go on now.
   *
   * @param prompt whether the approver may be asked
   * @param signal of this caller: when it fires, the step is cancelled, and this answers at once
   */
  wait(step: StepRecord, prompt: boolean, signal?: AbortSignal): Promise<Acted | { kind: 'aborted' }>;
  /** Cancels a step that was not submitted, and asks for the end of a job that was. */
  cancel(step: StepRecord): Promise<void>;
  /** Settles when nothing is on its way any more. */
  settled(): Promise<void>;
}

export function createDrives(context: GatewayContext): Drives {
  const running = new Map<string, Drive>();

  function start(id: string, prompt: boolean): Drive {
    const cancelled = new AbortController();
    const acted = drive(context, id, prompt, cancelled.signal).finally(() => running.delete(id));
    // A caller that aborted waits no more; a fault is told to those that do.
    acted.catch(() => {});
    const made = { acted, cancelled };
    running.set(id, made);
    return made;
  }

  return {
    async wait(step, prompt, signal) {
      // Without a prompt a pending step is only told of, even while another caller has the approver asked.
      if (!prompt && step.state === 'pending' && !(await expireIfDue(context, step)))
        return { kind: 'pending', step };
      if (signal?.aborted) return { kind: 'aborted' };
      const { acted } = running.get(step.id) ?? start(step.id, prompt);
      return signal === undefined ? acted : unlessAborted(acted, signal);
    },
    async cancel(step) {
      // First of all, so that what is on its way goes no further while the record is written.
      running.get(step.id)?.cancelled.abort();
      const noted = await noteCancel(context, step);
      if (noted === undefined || isStepEnd(noted.state)) return;
      (running.get(step.id) ?? start(step.id, false)).cancelled.abort();
    },
    async settled() {
      await Promise.allSettled([...running.values()].map((one) => one.acted));
    },
  };
}

async function unlessAborted(
  acted: Promise<Acted>,
  signal: AbortSignal,
): Promise<Acted | { kind: 'aborted' }> {
  // A signal of its own: many listeners on one make Node warn of a leak.
  const own = AbortSignal.any([signal]);
  let stop = (): void => {};
  const aborted = new Promise<{ kind: 'aborted' }>((resolve) => {
    stop = () => resolve({ kind: 'aborted' });
    own.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([acted, aborted]);
  } finally {
    own.removeEventListener('abort', stop);
  }
}

// Ends the step where nothing of it is submitted; else notes that its end was asked for, for every process.
async function noteCancel(context: GatewayContext, step: StepRecord): Promise<StepRecord | undefined> {
  for (let at: StepRecord | undefined = step; at !== undefined; at = await load(context, at.id)) {
    if (isStepEnd(at.state) || at.cancelAsked) return at;
    const noted = isUnsent(at)
      ? await cancelStep(context, at, 'cancelled', 'Cancelled before it was submitted. Nothing ran.')
      : await askForEnd(context, at);
    if (noted !== undefined) return noted;
  }
  return undefined;
}

async function askForEnd(context: GatewayContext, step: StepRecord): Promise<StepRecord | undefined> {
  await audit(context, 'cancel', step, { job: step.attempts.at(-1)?.job ?? null });
  return save(context, step, { cancelAsked: true });
}

async function drive(
  context: GatewayContext,
  id: string,
  prompt: boolean,
  cancelled: AbortSignal,
): Promise<Acted> {
  try {
    for (;;) {
      const step = await load(context, id);
      if (step?.state === 'pending') {
        if (await expireIfDue(context, step)) continue;
        if (cancelled.aborted)
          await cancelStep(context, step, 'cancelled', 'Cancelled before anyone decided. Nothing ran.');
        else if (!prompt || context.approver === undefined || context.closing.aborted)
          return { kind: 'pending', step };
        else if (context.approver === 'none') await unlessNobody(context, step);
        else await ask(context, step, context.approver, cancelled);
        continue;
      }
      const acted = await act(context, id, cancelled);
      if (acted.kind !== 'pending') return acted;
    }
  } catch (error) {
    if (!isSkillRunError(error, 'aborted')) throw error;
    return closed;
  }
}
