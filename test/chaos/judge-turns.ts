import type { StepRecord } from '../../src/step/record.ts';
import type { Effect } from './chaos-store.ts';
import type { Evidence } from './evidence.ts';

/** Steps that a turn of the person's left waiting, though it was answered that it ended what waits. */
export function leftWaiting({ effects = [] }: Evidence): string[] {
  return effects.flatMap((effect, at) => {
    if (effect.kind !== 'superseded') return [];
    const { turn } = effect;
    const from = effects.findIndex((one) => one.kind === 'superseding' && one.turn === turn);
    const after = latest(effects.slice(0, at));
    return [...latest(effects.slice(0, from)).values()]
      .filter(({ id, state, revision }) => state === 'pending' && after.get(id)?.revision === revision)
      .map(({ id }) => `${id}: still waits after a new turn`);
  });
}

function latest(effects: readonly Effect[]): Map<string, StepRecord> {
  const found = new Map<string, StepRecord>();
  for (const effect of effects) {
    if (effect.kind !== 'created' && effect.kind !== 'updated') continue;
    const { step } = effect;
    if ((found.get(step.id)?.revision ?? 0) < step.revision) found.set(step.id, step);
  }
  return found;
}

const enough = 2;

/** Steps that ended by a turn that nobody began, were denied for denials that there are not, or were asked in spite of them. */
export function wrongTurns(evidence: Evidence): string[] {
  const { steps, newTurns } = evidence;
  return steps.flatMap((step) => {
    const { id, end, decision } = step;
    const found: string[] = [];
    if (end?.status === 'superseded' && newTurns === 0)
      found.push(`${id}: superseded, and there was no new turn`);
    if (end?.status === 'superseded' && decision !== null)
      found.push(`${id}: superseded after it was decided`);
    const denials = steps.filter((one) => isDenied(one) && one.digest === step.digest).length;
    if (decision?.by === 'repeated-denial' && denials < enough) {
      found.push(`${id}: denied for ${denials} denials`);
    }
    return [...found, ...askedAgain(step, evidence)];
  });
}

function isDenied({ state, decision }: StepRecord): boolean {
  return state === 'denied' && decision?.via === 'person';
}

function askedAgain({ id, call }: StepRecord, { effects = [] }: Evidence): string[] {
  const made = effects.find((one) => one.kind === 'created' && one.step.id === id);
  if (made?.kind !== 'created' || made.step.state !== 'pending') return [];
  const { life } = made;
  const called = effects.findIndex(
    (one) => one.kind === 'called' && one.call === call.id && one.life === life,
  );
  const asked = made.step.digest;
  const before = [...latest(effects.slice(0, Math.max(0, called))).values()];
  const denials = before.filter((one) => isDenied(one) && one.digest === asked).length;
  return denials < enough ? [] : [`${id}: asked, and it was denied ${denials} times before`];
}
