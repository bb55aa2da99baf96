import { describe, expect, test } from 'vitest';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import { verifySkills } from '../../src/menu/skill-set.ts';
import type { RunService } from '../../src/run/service.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { GrantStore, StepStore } from '../../src/store/port.ts';
import { ann, approve, type Harness, harness, passing, submitBodies, until } from '../support/harness.ts';

const by = ann.subject;
const args = { title: 'a' };
const always = async () => ({ decision: 'approve', always: true }) as const;

/** A Run whose node look-up waits until it is let go. */
function slowNodes(run: RunService): { run: RunService; looked: () => boolean; go: () => void } {
  let looked = false;
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const nodes: RunService['nodes'] = async (context, options) => {
    looked = true;
    await gate;
    return run.nodes(context, options);
  };
  return { run: { ...run, nodes }, looked: () => looked, go };
}

/** A gateway whose store takes `slow.ms` to count steps and to find a grant; what it asks expires after a minute. */
function slowStore(h: Harness) {
  const store = createMemoryStore();
  const slow = { ms: 0 };
  const slowly = async <T>(answer: Promise<T>): Promise<T> => {
    await h.clock.advance(slow.ms);
    return answer;
  };
  const steps: StepStore = { ...store.steps, count: (of) => slowly(store.steps.count(of)) };
  const grants: GrantStore = { ...store.grants, find: (key) => slowly(store.grants.find(key)) };
  const gateway = h.other({ store: { ...store, steps, grants }, approvalExpiryMs: 60_000 });
  return { store, slow, gateway };
}

/** A snapshot of a process that died after it had leased an approved step and before it recorded a submit. */
async function diedLeased(h: Harness, decide: (id: string) => Promise<unknown>): Promise<[string, string]> {
  const store = createMemoryStore();
  const slow = slowNodes(h.run);
  const gateway = h.other({ store, run: slow.run, approver: undefined as never });
  const waiting = await gateway.call({ id: 'c9', name: h.slugify, arguments: args });
  const id = waiting.step?.id ?? '';
  await decide(id);
  await gateway.approvals.approve(id, { by }).catch(() => {});
  void gateway.resume(id);
  await until(async () => (await store.steps.get(id))?.state === 'submitting');
  return [id, store.snapshot()];
}

describe('what was true at the decision is looked at again at every submit', () => {
  const nothing = async () => {};

  test('a leased step that expired meanwhile is not submitted', async () => {
    const h = await harness();
    const [id, snapshot] = await diedLeased(h, nothing);
    await h.clock.advance(2 * 86_400_000);
    const outcome = await h.other({ store: createMemoryStore(snapshot) }).resume(id);
    expect(outcome).toMatchObject({ status: 'expired', executed: false });
    expect(outcome.message).toContain('not used in time');
    expect(h.mock.jobs).toBe(0);
  });

  // One look at the clock says whether a decision is in time, and is the time that is recorded.
  test('C48: a slow store makes no late decision of one in time', async () => {
    const h = await harness();
    const { gateway, store, slow } = slowStore(h);
    const waiting = await gateway.call({ id: 'c1', name: h.slugify, arguments: args });
    const { id = '', expiresAt = 0 } = waiting.step ?? {};
    await h.clock.advance(59_000);
    slow.ms = 20_000;
    await gateway.approvals.approve(id, { by, arguments: { title: 'b' } });
    slow.ms = 0;
    expect(h.clock.now()).toBeGreaterThan(expiresAt);
    const entries = await store.audit.list(ann);
    expect(entries.map(({ event }) => event)).toEqual(['ask', 'edit', 'approve']);
    expect(entries.filter(({ at }) => Date.parse(at) >= expiresAt)).toEqual([]);
    expect((await gateway.resume(id)).status).toBe('expired');
  });

  test('C48: an approval that runs out over a slow store is not submitted', async () => {
    const h = await harness();
    const { gateway, store, slow } = slowStore(h);
    const call = (id: string) => passing(h.clock, gateway.call({ id, name: h.slugify, arguments: args }));
    const { id = '' } = (await call('c1')).step ?? {};
    await gateway.approvals.approve(id, { by, always: true });
    expect((await passing(h.clock, gateway.resume(id))).status).toBe('completed');
    gateway.on('step-decided', () => {
      slow.ms = 61_000;
    });
    const late = await call('c2');
    expect(late).toMatchObject({ status: 'expired', executed: false });
    expect(h.mock.jobs).toBe(1);
    const entries = (await store.audit.list(ann)).filter(({ step }) => step === late.step?.id);
    expect(entries.map(({ event }) => event)).toEqual(['approve', 'expire']);
  });

  test('a leased step whose skill is gone is not submitted', async () => {
    const h = await harness();
    const [id, snapshot] = await diedLeased(h, nothing);
    const store = createMemoryStore(snapshot);
    const resumed = h.other({ store, skills: await verifySkills([]) }).resume(id);
    expect(await passing(h.clock, resumed)).toMatchObject({ status: 'skill_unavailable', executed: false });
    expect(h.mock.jobs).toBe(0);
  });

  test('C63: a grant that is revoked during the look-up of nodes puts the step back to pending', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: always } });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: args });
    const [grant] = await h.grants.list();
    const slow = slowNodes(h.run);
    const options: Partial<GatewayOptions> = { run: slow.run, approver: undefined as never };
    const call = h.other(options).call({ id: 'c2', name: h.slugify, arguments: args });
    await until(slow.looked);
    await h.grants.revoke(grant?.id ?? '');
    slow.go();
    expect(await passing(h.clock, call)).toMatchObject({ status: 'awaiting_approval' });
    expect(h.mock.jobs).toBe(1);
  });

  test('C63: a grant that is revoked while the own node does not place the job keeps it from the pool', async () => {
    const store = createMemoryStore();
    const nodes = [
      { node: 'mine', trust: 'user-owned' },
      { node: 'pool', trust: 'first-party' },
    ] as const;
    const h = await harness({ gateway: { store, approver: always }, mock: { nodes }, ownNodes: ['mine'] });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: args });
    const [grant] = await h.grants.list();
    const before = h.mock.jobs;
    h.mock.next({ unplaceable: true });
    const later = h.other({ approver: undefined as never });
    const call = later.call({ id: 'c2', name: h.slugify, arguments: args });
    await until(() => h.mock.jobs === before + 1);
    await h.grants.revoke(grant?.id ?? '');
    expect(await passing(h.clock, call)).toMatchObject({ status: 'awaiting_approval' });
    expect(h.mock.jobs).toBe(before + 1);
    // Approved by hand, it goes on where it was: to the pool, once.
    const [request] = await later.approvals.pending();
    await later.approvals.approve(request?.id ?? '', { by });
    const outcome = await passing(h.clock, later.resume(request?.id ?? ''));
    expect(outcome).toMatchObject({ status: 'completed', job: { tier: 'pool', node: 'pool' } });
    expect(h.mock.jobs).toBe(before + 2);
  });

  test('a submit that was never answered is not sent again once the approval is over', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve } });
    h.mock.fault({ on: 'submit', kind: 'drop-before', times: 4 });
    const call = h.gateway.call({ id: 'c1', name: h.slugify, arguments: args });
    const lost = await passing(h.clock, call);
    expect(lost.status).toBe('outcome_unknown');
    await h.clock.advance(900_000);
    const later = await h.gateway.resume(lost.step?.id ?? '');
    expect(later).toMatchObject({ status: 'outcome_unknown', executed: 'unknown', code: 'not-sent-again' });
    expect(await h.gateway.resumeAll()).toEqual([]);
    expect(h.mock.jobs).toBe(0);
  });
});

test('C63: a grant that is revoked at any call of the store before the submit stops it', async () => {
  for (let at = 0; ; at += 1) {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const first = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: args });
    await h.gateway.approvals.approve(first.step?.id ?? '', { by, always: true });
    const [grant] = await h.grants.list();
    const calls: PropertyKey[] = [];
    let isSent = false;
    // Each call answers, and then the person revokes before the gateway hears of it.
    const revoking = <Part extends object>(part: Part): Part =>
      new Proxy(part, {
        get:
          (of, name) =>
          async (...given: unknown[]) => {
            const answer = await (Reflect.get(of, name) as (...all: unknown[]) => Promise<unknown>)(...given);
            if (!isSent && calls.push(name) === at + 1) await h.grants.revoke(grant?.id ?? '');
            return answer;
          },
      });
    const submit: RunService['submit'] = (...given) => {
      isSent = true;
      return h.run.submit(...given);
    };
    const { steps, grants, audit } = store;
    const revoked = { steps: revoking(steps), grants: revoking(grants), audit: revoking(audit) };
    const gateway = h.other({ run: { ...h.run, submit }, store: { ...store, ...revoked } });
    const call = gateway.call({ id: 'c2', name: h.slugify, arguments: { title: 'b' } });
    const outcome = await passing(h.clock, call);
    if (outcome.status === 'completed') {
      // The very last look had seen the grant.
      expect(calls.slice(at)).toEqual(['find']);
      expect(calls.length).toBeGreaterThan(15);
      break;
    }
    expect(outcome, `after call ${at} of the store`).toMatchObject({
      status: 'awaiting_approval',
      executed: false,
    });
    expect(h.mock.jobs).toBe(0);
    // Asked again, and approved, it runs: nothing of the attempt that was never sent is in the way.
    const id = outcome.step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    expect((await passing(h.clock, h.gateway.resume(id))).status).toBe('completed');
    expect(h.mock.jobs).toBe(1);
  }
});

test('C63: a revocation after the submit does not end the job, and stops the next', async () => {
  const h = await harness({ gateway: { store: createMemoryStore(), approver: always } });
  await passing(h.clock, h.gateway.call({ id: 'c1', name: h.slugify, arguments: args }));
  const [grant] = await h.grants.list();
  const other = h.other({ approver: undefined as never });
  h.mock.next({ result: 'done', runMs: 5000 });
  let isRunning = false;
  other.on('step-submitted', () => {
    isRunning = true;
  });
  const call = other.call({ id: 'c2', name: h.slugify, arguments: { title: 'b' } });
  await until(() => isRunning);
  await h.clock.advance(1000);
  expect(await h.grants.revoke(grant?.id ?? '')).toBe(true);
  expect((await passing(h.clock, call)).status).toBe('completed');
  expect(h.mock.requests.filter(({ path }) => path.endsWith('/cancel'))).toEqual([]);
  const next = await other.call({ id: 'c3', name: h.slugify, arguments: { title: 'c' } });
  expect(next.status).toBe('awaiting_approval');
});

test('C105: what was approved narrower than another process would ask for runs as narrow', async () => {
  const store = createMemoryStore();
  const narrow: GatewayOptions['narrow'] = () => ({ net: 'deny', limits: { wall_ms: 500 } });
  const h = await harness({ gateway: { store, narrow } });
  const waiting = await h.gateway.call({
    id: 'c1',
    name: h.fetchTitle,
    arguments: { url: 'https://a.example/' },
  });
  const id = waiting.step?.id ?? '';
  await h.gateway.approvals.approve(id, { by });
  const without = h.other({ narrow: undefined as never });
  expect((await passing(h.clock, without.resume(id))).status).toBe('completed');
  expect(submitBodies(h)).toMatchObject([{ egress: 'none', limits: { wall_ms: 500 } }]);
  // One that has become narrower since does not run what is wider.
  const wide = await without.call({ id: 'c2', name: h.slugify, arguments: args });
  await without.approvals.approve(wide.step?.id ?? '', { by });
  expect((await h.gateway.resume(wide.step?.id ?? '')).status).toBe('skill_unavailable');
});
