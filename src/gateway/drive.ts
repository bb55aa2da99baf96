import { isSkillRunError } from '../errors.ts';
import type { StepRecord } from '../step/record.ts';
import { type Acted, act } from './act.ts';
import { ask } from './ask.ts';
import type { GatewayContext } from './context.ts';
import { cancelStep, expireIfDue } from './decide.ts';
import { load } from './record.ts';

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
      const { acted } = running.get(step.id) ?? start(step.id, prompt);
      if (signal === undefined) return acted;
      return Promise.race([acted, aborted(signal).then(() => ({ kind: 'aborted' }) as const)]);
    },
    async cancel(step) {
      const message = 'Cancelled before it was submitted. Nothing ran.';
      const before = step.state === 'pending' || step.state === 'approved';
      if (before && (await cancelStep(context, step, 'cancelled', message)) !== undefined) return;
      const on = running.get(step.id) ?? start(step.id, false);
      on.cancelled.abort();
    },
    async settled() {
      await Promise.allSettled([...running.values()].map((one) => one.acted));
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
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
        else await ask(context, step, context.approver, cancelled);
        continue;
      }
      const acted = await act(context, id, cancelled);
      if (acted.kind !== 'pending') return acted;
    }
  } catch (error) {
    if (!isSkillRunError(error, 'aborted')) throw error;
    return { kind: 'unknown', code: 'closed', message: 'The gateway was closed. The step can be resumed.' };
  }
}
