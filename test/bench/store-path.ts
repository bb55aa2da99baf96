import { newId } from '../../src/ids.ts';
import type { StepRecord } from '../../src/step/record.ts';
import { advance } from '../../src/step/transitions.ts';
import { type AuditEvent, chainEntry } from '../../src/store/audit.ts';
import type { StorePort, StoreScope } from '../../src/store/port.ts';
import { someStep } from '../support/step.ts';

/** A person of its own. */
export function somebody(): StoreScope {
  return { subject: newId('usr', Date.now()), project: newId('prj', Date.now()) };
}

/** A step of this person that waits. */
export function stepOf(scope: StoreScope, session: string): StepRecord {
  const id = newId('stp', Date.now());
  return someStep({ id, owner: { ...scope, agent: null }, session, replayKey: id });
}

/** All that a gateway writes for one call, from the ask to its end. Answers how many steps it played. */
export async function playFor(store: StorePort, ms: number): Promise<number> {
  const scope = somebody();
  const until = performance.now() + ms;
  let played = 0;
  for (; performance.now() < until; played += 1) await play(store, scope);
  return played;
}

async function play(store: StorePort, scope: StoreScope): Promise<void> {
  const audit = async (event: AuditEvent, step: StepRecord): Promise<void> => {
    const { id, digest, target } = step;
    const facts = {
      event,
      at: '',
      step: id,
      digest,
      target,
      argumentBytes: 20,
      by: null,
      job: null,
      status: null,
    };
    const head = await store.audit.head(scope);
    const entry = await chainEntry(scope, head, newId('aud', Date.now()), facts);
    if (!(await store.audit.append(scope, entry))) throw new Error('Somebody else appended.');
  };
  const asked = stepOf(scope, 's');
  await audit('ask', asked);
  let { step } = await store.steps.create(asked);
  const save = async (change: Parameters<typeof advance>[1]): Promise<void> => {
    step = advance(step, change);
    if (!(await store.steps.update(step))) throw new Error('Somebody else updated.');
  };
  await audit('approve', step);
  await save({ state: 'approved' });
  await save({ lease: { holder: 'bench', until: Date.now() + 30_000 } });
  await audit('submit', step);
  const attempt = {
    service: 'bench',
    tier: 'own',
    nodes: ['node'],
    key: step.id,
    job: null,
    state: 'open',
  } as const;
  await save({ state: 'submitting', attempts: [attempt] });
  await save({ state: 'submitted', attempts: [{ ...attempt, job: newId('job', Date.now()) }] });
  await save({ state: 'running' });
  await audit('end', step);
  const end = { status: 'completed', executed: true, message: 'It ran.', at: '' } as const;
  await save({ state: 'ended', end, lease: null });
}
