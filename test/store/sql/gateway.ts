import { expect, test } from 'vitest';
import { createSkillGateway } from '../../../src/gateway/gateway.ts';
import { ann, harness, passing, until } from '../../support/harness.ts';
import type { Place } from './places.ts';

const by = ann.subject;
const title = (text: string) => ({ title: text });

/** The whole path, its parts in processes of their own over one database. */
export function gatewaySuite(fresh: () => Promise<Place>): void {
  async function two() {
    const place = await fresh();
    const [here, there] = [await place.open(), await place.open()];
    const h = await harness({ gateway: { store: here, session: 's' } });
    return { place, here, there, h, other: h.other({ store: there }) };
  }

  test('C24, C28: asked here, approved there, resumed in a third, it runs once and is not asked again', async () => {
    const { place, h, other } = await two();
    h.mock.next({ result: 'once' });
    const call = { id: 'c1', name: h.slugify, arguments: title('a') };
    const waiting = await h.gateway.call(call);
    expect(waiting).toMatchObject({ status: 'awaiting_approval', durable: true });
    const id = waiting.step?.id ?? '';
    expect((await other.approvals.pending()).map((request) => request.id)).toEqual([id]);
    await other.approvals.approve(id, { by });
    const third = h.other({
      store: await place.open(),
      approver: () => Promise.reject(new Error('asked again')),
    });
    const resumed = await third.resume(id);
    expect(resumed.status === 'completed' && resumed.value.reveal()).toBe('once');
    const again = [await third.call(call), await h.gateway.call(call)];
    expect(again.map((outcome) => outcome.status === 'completed' && outcome.value.reveal())).toEqual([
      'once',
      'once',
    ]);
    expect([h.mock.jobs, h.mock.submits]).toEqual([1, 1]);
  });

  test('C3: denied by a gateway without policy or approver, it does not run', async () => {
    const { h, there } = await two();
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    const bare = createSkillGateway({
      person: ann,
      skills: h.skills,
      run: h.run,
      clock: h.clock,
      store: there,
    });
    await bare.approvals.deny(id, { by });
    expect(await bare.resume(id)).toMatchObject({ status: 'denied', executed: false });
    expect(await h.gateway.resume(id)).toMatchObject({ status: 'denied', executed: false });
    expect(h.mock.jobs).toBe(0);
  });

  test('C10: of two steps that wait, deciding one runs that one; the other goes on waiting', async () => {
    const { h, other } = await two();
    const [one, second] = await h.gateway.callAll([
      { id: 'c1', name: h.slugify, arguments: title('a') },
      { id: 'c2', name: h.slugify, arguments: title('b') },
    ]);
    await other.approvals.approve(second?.step?.id ?? '', { by });
    expect((await other.resumeAll()).map((outcome) => outcome.status)).toEqual(['completed']);
    expect((await other.resume(one?.step?.id ?? '')).status).toBe('awaiting_approval');
    expect(h.mock.jobs).toBe(1);
  });

  test('C17, C18: approved 20 times at once in two, it is approved once and runs once', async () => {
    const { h, other } = await two();
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    const decided = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => (n % 2 ? other : h.gateway).approvals.approve(id, { by })),
    );
    expect(decided.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    for (const result of decided) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'step_already_decided' });
    }
    const outcomes = await passing(h.clock, Promise.all([h.gateway.resume(id), other.resume(id)]));
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['completed', 'completed']);
    expect(new Set(outcomes.map((outcome) => outcome.job?.id)).size).toBe(1);
    expect([h.mock.jobs, h.mock.submits]).toEqual([1, 1]);
  });

  test('C60: "always" said here is heard there, until it is revoked', async () => {
    const { h, other } = await two();
    const ask = (id: string) => ({ id, name: h.slugify, arguments: title(id) });
    const waiting = await h.gateway.call(ask('c1'));
    await h.gateway.approvals.approve(waiting.step?.id ?? '', { by, always: true });
    expect((await other.call(ask('c2'))).status).toBe('completed');
    const [grant] = await other.grants.list();
    await other.grants.revoke(grant?.id ?? '');
    expect((await h.gateway.call(ask('c3'))).status).toBe('awaiting_approval');
  });

  test('one process ends after the submit: another follows the same job', async () => {
    const { h, here, other } = await two();
    h.mock.next({ result: 1, runMs: 5000 });
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    void h.gateway.resume(id).catch(() => {});
    await until(async () => (await here.steps.get(id))?.attempts[0]?.job);
    await h.gateway.close();
    await here.close();
    expect((await passing(h.clock, other.resume(id))).status).toBe('completed');
    expect([h.mock.jobs, h.mock.submits]).toEqual([1, 1]);
  });
}
