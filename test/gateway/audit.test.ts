import { describe, expect, test } from 'vitest';
import type { Decision } from '../../src/approval/decision.ts';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import { canonicalJson, type Json } from '../../src/skill/json.ts';
import { sha256 } from '../../src/skill/sha256.ts';
import type { StepRecord } from '../../src/step/record.ts';
import { type AuditEvent, type AuditScope, auditRoot } from '../../src/store/audit.ts';
import { createMemoryStore, type MemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import type { MockNode } from '../../src/testing/mock-nodes.ts';
import {
  agentId,
  ann,
  approve,
  ben,
  type Harness,
  harness,
  passing,
  submitBodies,
} from '../support/harness.ts';

const by = ann.subject;
const always = async (): Promise<Decision> => ({ decision: 'approve', always: true });
const deny = async (): Promise<Decision> => ({ decision: 'deny' });
const auto: Partial<GatewayOptions> = {
  agent: { id: agentId, level: 'auto' },
  policy: () => ({ effect: 'allow' }),
};

interface Failing {
  readonly store: StorePort;
  readonly memory: MemoryStore;
  /** Writes the audit again. */
  heal(): void;
}

/** A store that cannot write the audit of one kind of act. */
function failingAt(event: AuditEvent): Failing {
  const memory = createMemoryStore();
  let isBroken = true;
  const audit: StorePort['audit'] = {
    ...memory.audit,
    append: (scope, entry) =>
      isBroken && entry.event === event
        ? Promise.reject(new Error('The audit cannot be written.'))
        : memory.audit.append(scope, entry),
  };
  return {
    store: { ...memory, audit },
    memory,
    heal() {
      isBroken = false;
    },
  };
}

const oneCall = (h: Harness) => ({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
const allSteps = (memory: MemoryStore): StepRecord[] => JSON.parse(memory.snapshot()).steps;

describe('what could not be audited was not done', () => {
  test.each<[string, AuditEvent, Partial<GatewayOptions>]>([
    ['an ask', 'ask', { approver: approve }],
    ['a refusal', 'refuse', { policy: () => ({ effect: 'deny' }) }],
    ['an approval by policy', 'approve', auto],
  ])('%s: nothing is recorded, nobody is asked, nothing runs', async (_, event, change) => {
    const { store, memory, heal } = failingAt(event);
    const h = await harness({ gateway: { store, ...change } });
    const outcome = await h.gateway.call(oneCall(h));
    expect(outcome).toMatchObject({ status: 'run_error', executed: false, code: 'port-failed' });
    expect(outcome.step).toBeUndefined();
    expect(allSteps(memory)).toEqual([]);
    expect(h.told).toEqual(['fault', 'call-finished']);
    expect(h.mock.submits).toBe(0);
    heal();
    expect((await h.gateway.call(oneCall(h))).status).toMatch(/completed|refused/);
  });

  test.each<[string, AuditEvent, () => Promise<Decision>]>([
    ['an approval', 'approve', approve],
    ['a denial', 'deny', deny],
  ])('%s: the step still waits', async (_, event, approver) => {
    const { store, memory, heal } = failingAt(event);
    const h = await harness({ gateway: { store, approver } });
    const outcome = await h.gateway.call(oneCall(h));
    expect(outcome).toMatchObject({ status: 'run_error', executed: false, step: { state: 'pending' } });
    expect(allSteps(memory).map(({ state, decision }) => [state, decision])).toEqual([['pending', null]]);
    await expect(
      event === 'approve'
        ? h.gateway.approvals.approve(outcome.step?.id ?? '', { by })
        : h.gateway.approvals.deny(outcome.step?.id ?? '', { by }),
    ).rejects.toThrow('cannot be written');
    expect(h.mock.submits).toBe(0);
    heal();
    expect((await passing(h.clock, h.gateway.call(oneCall(h)))).status).toMatch(/completed|denied/);
  });

  test('an expiry: the step is not expired in the record, and cannot be approved either', async () => {
    const { store, memory } = failingAt('expire');
    const h = await harness({ gateway: { store } });
    const id = (await h.gateway.call(oneCall(h))).step?.id ?? '';
    await h.clock.advance(900_000);
    await expect(h.gateway.approvals.approve(id, { by })).rejects.toThrow('cannot be written');
    expect(await h.gateway.resume(id)).toMatchObject({ status: 'run_error', executed: false });
    expect(allSteps(memory)[0]?.state).toBe('pending');
    expect(h.mock.submits).toBe(0);
  });

  test('a cancel: the step still waits', async () => {
    const { store, memory } = failingAt('cancel');
    const h = await harness({ gateway: { store } });
    const id = (await h.gateway.call(oneCall(h))).step?.id ?? '';
    await expect(h.gateway.approvals.cancel(id)).rejects.toThrow('cannot be written');
    expect(allSteps(memory)[0]?.state).toBe('pending');
    const aborted = await h.gateway.call(oneCall(h), { signal: AbortSignal.abort() });
    expect(aborted).toMatchObject({ status: 'run_error', executed: false });
  });

  test('a submit: nothing is sent; when it can be, it is sent once', async () => {
    const { store, memory, heal } = failingAt('submit');
    const h = await harness({ gateway: { store, approver: approve } });
    const outcome = await h.gateway.call(oneCall(h));
    expect(outcome).toMatchObject({ status: 'run_error', executed: false });
    expect(allSteps(memory)[0]?.attempts).toEqual([]);
    expect(h.mock.submits).toBe(0);
    heal();
    expect((await passing(h.clock, h.gateway.resume(outcome.step?.id ?? ''))).status).toBe('completed');
    expect([h.mock.submits, h.mock.jobs]).toEqual([1, 1]);
  });

  test('a withdrawal: the job is not taken back, and no other one is submitted', async () => {
    const { store } = failingAt('withdraw');
    const nodes: MockNode[] = [
      { node: 'link-1', trust: 'user-owned' },
      { node: 'node-pool-1', trust: 'first-party' },
    ];
    const h = await harness({
      gateway: { store, approver: approve },
      mock: { nodes },
      ownNodes: ['link-1'],
    });
    h.mock.next({ unplaceable: true });
    const outcome = await passing(h.clock, h.gateway.call(oneCall(h)));
    expect(outcome).toMatchObject({ status: 'outcome_unknown', executed: 'unknown' });
    expect(h.mock.submits).toBe(1);
    expect(h.mock.requests.filter(({ path }) => path.endsWith('/cancel'))).toEqual([]);
  });

  test('an end: the outcome is unknown until it can be written, and the job is not run again', async () => {
    const { store, heal } = failingAt('end');
    const h = await harness({ gateway: { store, approver: approve } });
    h.mock.next({ result: 'once' });
    const outcome = await h.gateway.call(oneCall(h));
    expect(outcome).toMatchObject({ status: 'outcome_unknown', executed: 'unknown', code: 'port-failed' });
    heal();
    const resumed = await h.gateway.resume(outcome.step?.id ?? '');
    expect(resumed.status === 'completed' && resumed.value.reveal()).toBe('once');
    expect(h.mock.jobs).toBe(1);
  });

  test('a grant: it is not made, which is said, and the step runs once', async () => {
    const { store } = failingAt('grant');
    const h = await harness({ gateway: { store, approver: always } });
    expect((await h.gateway.call(oneCall(h))).status).toBe('completed');
    expect(h.told).toContain('grant-failed');
    expect(await h.grants.list()).toEqual([]);
  });

  test('a revocation: it is not done, and does not look as if it were', async () => {
    const { store } = failingAt('revoke');
    const h = await harness({ gateway: { store, approver: always } });
    await h.gateway.call(oneCall(h));
    const [grant] = await h.grants.list();
    await expect(h.grants.revoke(grant?.id ?? '')).rejects.toThrow('cannot be written');
    expect(await h.grants.list()).toEqual([grant]);
    for (const id of ['', 'grt_', `${grant?.id}\n`, 'stp_01JAB2C3D4E5F6G7H8J9K0MNPQ', 'x'.repeat(100_000)]) {
      expect(await h.grants.revoke(id)).toBe(false);
    }
    expect((await store.audit.list(ann)).filter(({ event }) => event === 'revoke')).toEqual([]);
  });
});

/** A store that fails a test in which a change comes before its audit entry. */
function watched(): { store: StorePort; memory: MemoryStore; changes: string[] } {
  const memory = createMemoryStore();
  const changes: string[] = [];
  const needed: Partial<Record<StepRecord['state'], AuditEvent>> = {
    pending: 'ask',
    approved: 'approve',
    denied: 'deny',
    refused: 'refuse',
    expired: 'expire',
    cancelled: 'cancel',
  };
  const check = async (step: StepRecord): Promise<void> => {
    const event = needed[step.state];
    if (event === undefined) return;
    const entries = (await memory.audit.list(ann)).filter((entry) => entry.step === step.id);
    expect(entries.map((entry) => entry.event)).toContain(event);
    expect(entries.every(({ digest }) => digest === step.digest)).toBe(true);
    changes.push(step.state);
  };
  const steps: StorePort['steps'] = {
    ...memory.steps,
    async create(step) {
      await check(step);
      return memory.steps.create(step);
    },
    async update(step) {
      await check(step);
      return memory.steps.update(step);
    },
  };
  return { store: { ...memory, steps }, memory, changes };
}

describe('record first', () => {
  test('an entry is there before each change of a step and before each submit', async () => {
    const { store, memory, changes } = watched();
    const h = await harness();
    const run = {
      ...h.run,
      submit: async (...[request, context]: Parameters<typeof h.run.submit>) => {
        const entries = await memory.audit.list(ann);
        expect(
          entries.filter(({ job }) => job === request.idempotency_key).map(({ event }) => event),
        ).toEqual(['submit']);
        return h.run.submit(request, context);
      },
    };
    const gateway = h.other({ store, run });
    const call = (id: string) => gateway.call({ id, name: h.slugify, arguments: { title: id } });
    const idOf = async (id: string) => (await call(id)).step?.id ?? '';
    const approved = await idOf('c1');
    await gateway.approvals.approve(approved, { by });
    await gateway.resume(approved);
    await gateway.approvals.deny(await idOf('c2'), { by, reason: 'no' });
    await gateway.approvals.cancel(await idOf('c3'));
    const expired = await idOf('c4');
    await h.clock.advance(900_000);
    await gateway.resume(expired);
    await h.other({ store, run, policy: () => ({ effect: 'deny' }) }).call(oneCall(h));
    await h.other({ store, run, ...auto }).call({ ...oneCall(h), id: 'c5' });
    expect([...new Set(changes)].sort()).toEqual([
      'approved',
      'cancelled',
      'denied',
      'expired',
      'pending',
      'refused',
    ]);
    expect(submitBodies(h)).toHaveLength(2);
    const events = (await memory.audit.list(ann)).map(({ event }) => event);
    expect(events).not.toContain('conflict');
    const sizes = (await memory.audit.list(ann)).map(({ argumentBytes }) => argumentBytes);
    expect(new Set(sizes)).toEqual(new Set(['{"title":"c1"}'.length, '{"title":"a"}'.length]));
  });

  test('of two decisions at once the loser’s entry is followed by its conflict', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const id = (await h.gateway.call(oneCall(h))).step?.id ?? '';
    await Promise.allSettled([h.gateway.approvals.approve(id, { by }), h.other().approvals.deny(id, { by })]);
    const entries = await store.audit.list(ann);
    expect(entries.map(({ event }) => event).sort()).toEqual(['approve', 'ask', 'conflict', 'deny']);
    const { state } = (await store.steps.get(id)) ?? {};
    const lost = state === 'approved' ? 'deny' : 'approve';
    expect(entries.at(-1)).toMatchObject({ event: 'conflict', status: lost, by });
    expect(entries.find(({ event }) => event === 'deny')).toMatchObject({ by });
  });

  test('a grant that is not made, and a revocation of none, are followed by their conflict', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const ids = [];
    for (const id of ['c1', 'c2', 'c3']) {
      ids.push((await h.gateway.call({ ...oneCall(h), id })).step?.id ?? '');
    }
    const put = () => Promise.reject(new Error('disk full'));
    const broken = h.other({ store: { ...store, grants: { ...store.grants, put } } });
    expect((await broken.approvals.approve(ids[0] ?? '', { by, always: true })).grant).toBe('failed');
    for (const id of ids.slice(1)) await h.gateway.approvals.approve(id, { by, always: true });
    const [grant] = await h.grants.list();
    await h.grants.revoke(grant?.id ?? '');
    await h.grants.revoke(grant?.id ?? '');
    const told = (await store.audit.list(ann)).filter(({ event, status }) =>
      ['grant', 'revoke'].includes(event === 'conflict' ? (status ?? '') : event),
    );
    const [failed, kept, another] = told.filter(({ event }) => event === 'grant').map(({ status }) => status);
    expect(told.map(({ event, by: who }) => [event, who])).toEqual([
      ['grant', by],
      ['conflict', failed],
      ['grant', by],
      ['grant', by],
      ['conflict', another],
      ['revoke', by],
      ['revoke', by],
      ['conflict', kept],
    ]);
    expect(grant?.id).toBe(kept);
  });

  test('the sink hears of each entry in the order of the chain, however long the store takes', async () => {
    const memory = createMemoryStore();
    const heard: number[] = [];
    let n = 0;
    const append: StorePort['audit']['append'] = async (...given) => {
      const answer = await memory.audit.append(...given);
      n += 1;
      // Each answer comes later than the one after it would.
      for (let wait = 0; wait < 40 - n * 2; wait += 1) await new Promise((go) => setImmediate(go));
      return answer;
    };
    const store = { ...memory, audit: { ...memory.audit, append } };
    const h = await harness({ gateway: { store, auditSink: ({ seq }) => void heard.push(seq) } });
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => h.gateway.call({ ...oneCall(h), id })));
    const ids = (await h.gateway.approvals.pending()).map(({ id }) => id);
    await Promise.all(ids.map((id) => h.gateway.approvals.deny(id, { by })));
    expect(heard).toEqual(Array.from({ length: 10 }, (_, at) => at + 1));
  });
});

test('a refusal before there is a step is written too', async () => {
  const store = createMemoryStore();
  const transformArguments = () => {
    throw new Error('down');
  };
  const h = await harness({ gateway: { store, transformArguments } });
  expect(await h.gateway.call(oneCall(h))).toMatchObject({ status: 'refused', code: 'transform-failed' });
  expect(await store.audit.list(ann)).toMatchObject([
    { event: 'refuse', by: 'transform-failed', step: null, argumentBytes: null },
  ]);
});

async function verifyChain(store: StorePort, { subject, project }: AuditScope): Promise<number> {
  const chain = await store.audit.list({ subject, project });
  let previous = auditRoot;
  for (const [index, { hash, ...body }] of chain.entries()) {
    expect([body.seq, body.previous]).toEqual([index + 1, previous]);
    expect(await sha256(canonicalJson({ chain: { subject, project }, body } as unknown as Json))).toBe(hash);
    previous = hash;
  }
  return chain.length;
}

describe('the chain', () => {
  test('is one a person and project, unbroken however many write at once', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, ...auto } });
    const elsewhere = { subject: ann.subject, project: ben.project };
    const gateways = [h.gateway, h.other(), h.other({ person: ben }), h.other({ person: elsewhere })];
    const outcomes = gateways.flatMap((gateway) =>
      Array.from({ length: 13 }, (_, n) => gateway.call({ ...oneCall(h), id: `c${n}` })),
    );
    await passing(h.clock, Promise.all(outcomes));
    // Approve, submit and end of each.
    expect(await verifyChain(store, ann)).toBe(2 * 13 * 3);
    expect(await verifyChain(store, ben)).toBe(13 * 3);
    expect(await verifyChain(store, elsewhere)).toBe(13 * 3);
  });

  test('an entry of one person’s chain does not fit into another’s', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    await h.gateway.call(oneCall(h));
    const [first] = await store.audit.list(ann);
    if (first === undefined) throw new Error('No entry.');
    const moved = createMemoryStore();
    await moved.audit.append(ben, first);
    await expect(verifyChain(moved, ben)).rejects.toThrow();
  });
});
