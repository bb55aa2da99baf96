import type { StepRecord } from '../../src/step/record.ts';
import type { Evidence, RegistryEvidence } from './evidence.ts';
import type { RegistryState } from './registry.ts';

// For so long after one that was not answered nobody asks again.
const restMs = 10_000;

/** Submits of a skill that was retired, or of one with a network of which nothing was heard; ends that blame it wrongly. */
export function wrongListings({ steps, audit, registry }: Evidence): string[] {
  if (registry === null) return [];
  const found: string[] = [];
  for (const step of steps) {
    if (isUntrue(step, registry)) found.push(`${step.id}: ended as ${step.end?.code}, and it never was`);
    for (const { event, step: id, at } of audit) {
      if (event !== 'submit' || id !== step.id) continue;
      const time = Date.parse(at);
      const states = statesBefore(time, registry);
      const isOnly = (state: RegistryState): boolean => states.size === 1 && states.has(state);
      const isRetired = isOnly('retired') && !statesBefore(time, registry, restMs).has('down');
      const isUnheard = isOnly('down') && step.run.net !== 'deny';
      if (isRetired || isUnheard)
        found.push(`${id}: submitted at ${at}, when the registry was ${[...states]}`);
    }
  }
  return found;
}

function isUntrue({ end }: StepRecord, { history }: RegistryEvidence): boolean {
  const blamed = end?.code === 'registry-down' ? 'down' : end?.code;
  const isBlamed = blamed === 'down' || blamed === 'retired';
  return isBlamed && end?.status === 'skill_unavailable' && !history.some(({ state }) => state === blamed);
}

// What it said in the time from which an answer may be; nothing is known where the clocks do not agree.
function statesBefore(
  at: number,
  { history, maxAgeMs, slackMs }: RegistryEvidence,
  longerMs = 0,
): Set<RegistryState> {
  if (slackMs === null) return new Set();
  const from = at - maxAgeMs - slackMs - longerMs;
  const then = history.filter(
    (change, n) => change.at <= at && (history[n + 1]?.at ?? Number.POSITIVE_INFINITY) >= from,
  );
  return new Set(then.map(({ state }) => state));
}
