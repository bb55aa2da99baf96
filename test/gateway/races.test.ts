import { describe, expect, test } from 'vitest';
import { createSkillGateway } from '../../src/gateway/gateway.ts';
import { modelText } from '../../src/gateway/model-text.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import type { ManualClock } from '../../src/testing/manual-clock.ts';
import { ann, harness, passing, until } from '../support/harness.ts';

const by = ann.subject;
const title = (text: string) => ({ title: text });

/** A store that takes 10 ms to read a step, so that everybody has read before anybody writes. */
function slow(store: StorePort, clock: ManualClock): StorePort {
  const get: StorePort['steps']['get'] = async (id) => {
    const step = await store.steps.get(id);
    await clock.sleep(10);
    return step;
  };
  return { ...store, steps: { ...store.steps, get } };
}

describe('many clicks', () => {
  test('C18: 20 approvals that all read before any is written are one approval, and one job', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const call = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = call.step?.id ?? '';
    const waiting = h.other({ store: slow(store, h.clock) });
    const clicks = await passing(
      h.clock,
      Promise.allSettled(Array.from({ length: 20 }, () => waiting.approvals.approve(id, { by }))),
    );
    const codes = clicks.map((click) => (click.status === 'fulfilled' ? 'approved' : click.reason.code));
    expect(codes.filter((code) => code === 'approved')).toHaveLength(1);
    expect(codes.filter((code) => code === 'step_already_decided')).toHaveLength(19);
    await passing(h.clock, Promise.all([h.gateway.resume(id), h.other().resume(id), h.gateway.resume(id)]));
    expect(h.mock.jobs).toBe(1);
  });

  test('C19: two identical calls are two steps, and one click runs one', async () => {
    const h = await harness();
    const calls = ['c1', 'c2'].map((id) => ({ id, name: h.slugify, arguments: title('a') }));
    const outcomes = await h.gateway.callAll(calls);
    const ids = outcomes.map((outcome) => outcome.step?.id ?? '');
    expect(new Set(ids).size).toBe(2);
    await h.gateway.approvals.approve(ids[0] ?? '', { by });
    const statuses = (await passing(h.clock, Promise.all(ids.map((id) => h.gateway.resume(id))))).map(
      ({ status }) => status,
    );
    expect(statuses).toEqual(['completed', 'awaiting_approval']);
    expect(h.mock.jobs).toBe(1);
  });

  test('C23: a decision about a step that has ended says so and changes nothing', async () => {
    const h = await harness();
    const call = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = call.step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    const done = await passing(h.clock, h.gateway.resume(id));
    const late = { code: 'step_already_decided', state: 'ended', job: done.job?.id };
    await expect(h.gateway.approvals.approve(id, { by })).rejects.toMatchObject(late);
    await expect(h.gateway.approvals.deny(id, { by })).rejects.toMatchObject(late);
    expect(modelText(await h.gateway.resume(id)).split('\n')[0]).toBe(modelText(done).split('\n')[0]);
    expect((await h.gateway.resume(id)).job).toEqual(done.job);
    expect(h.mock.jobs).toBe(1);
  });

  test('C27: the same call over pending, decided and ended is one step, with one call and one result', async () => {
    const h = await harness();
    const call = { id: 'c1', name: h.slugify, arguments: title('a') };
    const asked = [await h.gateway.call(call), await h.gateway.call(call)];
    await h.gateway.approvals.approve(asked[0]?.step?.id ?? '', { by });
    const ended = [await passing(h.clock, h.gateway.call(call)), await h.gateway.call(call)];
    expect(new Set([...asked, ...ended].map(({ step }) => step?.id)).size).toBe(1);
    expect(ended.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(new Set([...asked, ...ended].map(({ call: { id } }) => id))).toEqual(new Set(['c1']));
  });
});

describe('while an approver waits', () => {
  const never = () => new Promise<never>(() => {});

  test.each([
    ['approve', 'completed'],
    ['deny', 'denied'],
    ['cancel', 'cancelled'],
  ] as const)(
    'C18: what another process decides (%s) ends the wait, and nothing is lost',
    async (how, status) => {
      const store = createMemoryStore();
      const h = await harness({ gateway: { store, approver: never } });
      const call = h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
      // Another gateway, as in another process: nothing but the store is shared.
      const page = createSkillGateway({ person: ann, skills: h.skills, run: h.run, clock: h.clock, store });
      await until(async () => (await page.approvals.pending()).length === 1);
      const [request] = await page.approvals.pending();
      await page.approvals[how](request?.id ?? '', { by });
      const begun = h.clock.now();
      expect(await passing(h.clock, call)).toMatchObject({ status, step: { id: request?.id } });
      expect(h.clock.now() - begun).toBeLessThan(5000);
      expect(h.mock.jobs).toBe(how === 'approve' ? 1 : 0);
    },
  );

  test('a store that cannot be read for a while changes nothing', async () => {
    const store = createMemoryStore();
    let down = false;
    const get: StorePort['steps']['get'] = async (id) => {
      if (down) throw new Error('down');
      return store.steps.get(id);
    };
    const approver = { decide: (_: { decision: 'approve' }) => {} };
    const answered = new Promise<{ decision: 'approve' }>((resolve) => {
      approver.decide = resolve;
    });
    const failing = { ...store, steps: { ...store.steps, get } };
    const h = await harness({ gateway: { store: failing, approver: () => answered } });
    const call = h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    await until(async () => (await h.gateway.approvals.pending()).length === 1);
    down = true;
    await h.clock.advance(10_000);
    down = false;
    approver.decide({ decision: 'approve' });
    expect(await passing(h.clock, call)).toMatchObject({ status: 'completed' });
  });
});

describe('over a restart', () => {
  test('C28: what was approved before a crash runs once after it, with nobody asked again', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const call = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    await h.gateway.approvals.approve(call.step?.id ?? '', { by });
    let asked = 0;
    const restored = h.other({
      store: createMemoryStore(store.snapshot()),
      approver: async () => {
        asked += 1;
        return { decision: 'deny' };
      },
      policy: () => ({ effect: 'deny' }),
    });
    const outcomes = await passing(h.clock, restored.resumeAll());
    expect(outcomes.map(({ status }) => status)).toEqual(['completed']);
    expect(await restored.resumeAll()).toEqual([]);
    expect([asked, h.mock.jobs]).toEqual([0, 1]);
  });
});

describe('what a decision says', () => {
  test('C66: an "always" for a time or a number of runs is not offered: it decides nothing, and says so', async () => {
    const h = await harness();
    const call = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const narrower = [{ maxUses: 3 }, { expiresAt: '2026-12-01T00:00:00Z' }, 'once', 3];
    for (const always of narrower) {
      const approval = h.gateway.approvals.approve(call.step?.id ?? '', { by, always: always as never });
      await expect(approval).rejects.toMatchObject({ code: 'option_invalid' });
    }
    expect(await h.grants.list()).toEqual([]);
    expect((await h.gateway.resume(call.step?.id ?? '')).status).toBe('awaiting_approval');
  });

  test('C41: a refusal tells the model not to try again, with the person’s reason where there is one', async () => {
    const h = await harness();
    const say = async (id: string, reason?: string): Promise<string> => {
      const call = await h.gateway.call({ id, name: h.slugify, arguments: title(id) });
      await h.gateway.approvals.deny(call.step?.id ?? '', { by, ...(reason !== undefined && { reason }) });
      return (await h.gateway.resume(call.step?.id ?? '')).message;
    };
    const plain = await say('c1');
    expect(plain).toMatch(/refused.*Do not call it again/);
    expect(plain).not.toContain('said');
    expect(await say('c2', 'Not "today"')).toContain('The person said: "Not \\"today\\""');
    expect(h.mock.jobs).toBe(0);
  });

  test('C49: when a step expires stands in its outcome, its event and its request', async () => {
    const h = await harness();
    const told: number[] = [];
    h.gateway.on('step-pending', ({ step }) => void told.push(step.expiresAt));
    const call = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const expiresAt = h.clock.now() + 900_000;
    const [request] = await h.gateway.approvals.pending();
    expect([call.step?.expiresAt, ...told]).toEqual([expiresAt, expiresAt]);
    expect(request?.expiresAt).toBe(new Date(expiresAt).toISOString());
  });
});
