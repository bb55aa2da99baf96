import { newId } from '../../src/ids.ts';
import type { StepRecord } from '../../src/step/record.ts';
import { type AuditFacts, chainEntry } from '../../src/store/audit.ts';
import { type Grant, grantKeyOf, grantScopeOf } from '../../src/store/grant.ts';
import type { StorePort, StoreScope } from '../../src/store/port.ts';
import { ann } from '../support/harness.ts';
import { someStep, someTime } from '../support/step.ts';

/** A grant as the approval of this step would make it. */
export async function someGrant(step: StepRecord = someStep()): Promise<Grant> {
  const scope = grantScopeOf(step);
  const key = await grantKeyOf(scope);
  return { id: newId('grt', someTime), scope, key, by: ann.subject, step: step.id, createdAt: 'now' };
}

export const someFacts: AuditFacts = {
  event: 'ask',
  at: '2026-01-01T00:00:00.000Z',
  step: null,
  digest: null,
  target: null,
  argumentBytes: null,
  by: null,
  job: null,
  status: null,
};

/** Appends one entry, however often others are first. */
export async function appendAudit(store: StorePort, scope: StoreScope, status: string): Promise<void> {
  for (;;) {
    const head = await store.audit.head(scope);
    const entry = await chainEntry(scope, head, newId('aud', someTime), { ...someFacts, status });
    if (await store.audit.append(scope, entry)) return;
  }
}
