import { describe, expect, test } from 'vitest';
import { modelText } from '../../src/gateway/model-text.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { createScriptedModel } from '../../src/testing/scripted-model.ts';
import { agentId, ann, ben, type Harness, harness } from '../support/harness.ts';

const by = ann.subject;

async function denying(gateway: Parameters<typeof harness>[0] = {}) {
  let prompts = 0;
  const store = createMemoryStore();
  const h = await harness({
    gateway: {
      store,
      session: 's',
      approver: async () => {
        prompts += 1;
        return { decision: 'deny' };
      },
      ...gateway.gateway,
    },
  });
  return { h, store, prompts: () => prompts };
}

const call = (h: Harness, id: string, title = 'a') => ({ id, name: h.slugify, arguments: { title } });

describe('C42: the same call again and again', () => {
  test('a model that goes on is asked for twice, then denied without a prompt, until the person speaks', async () => {
    const { h, prompts } = await denying();
    const turns = Array.from({ length: 6 }, (_, n) => [call(h, `c${n}`)]);
    const model = createScriptedModel([...turns, 'I give up.', [call(h, 'c9')], 'Again.']);
    const statuses: string[] = [];
    const codes: (string | undefined)[] = [];
    const converse = async (): Promise<void> => {
      for (;;) {
        const turn = model.next([]);
        if (typeof turn === 'string') return;
        for (const outcome of await h.gateway.callAll(turn)) {
          statuses.push(outcome.status);
          codes.push(outcome.code);
          expect(modelText(outcome)).toContain('Do not call it again');
        }
      }
    };
    await converse();
    expect(statuses).toEqual(Array(6).fill('denied'));
    expect(codes).toEqual([undefined, undefined, ...Array(4).fill('repeated-denial')]);
    expect(prompts()).toBe(2);
    h.gateway.newTurn();
    await converse();
    expect(prompts()).toBe(3);
    model.done();
    expect(h.mock.jobs).toBe(0);
  });

  test('it is recorded as a step that was denied, told of, and audited first', async () => {
    const { h, store } = await denying({ gateway: { maxRepeatDenials: 1 } });
    await h.gateway.call(call(h, 'c1'));
    const before = h.told.length;
    const outcome = await h.gateway.call(call(h, 'c2'));
    expect(outcome).toMatchObject({ status: 'denied', executed: false, code: 'repeated-denial' });
    const step = await store.steps.get(outcome.step?.id ?? '');
    expect(step).toMatchObject({
      state: 'denied',
      facts: null,
      decision: { effect: 'deny', via: 'policy', by: 'repeated-denial' },
    });
    expect(h.told.slice(before)).toEqual(['step-decided', 'step-finished', 'call-finished']);
    const entries = (await store.audit.list(ann)).filter((entry) => entry.step === step?.id);
    expect(entries).toMatchObject([{ event: 'deny', by: 'repeated-denial' }]);
  });

  test('neither a grant nor a policy that allows makes it run; nobody hears policy', async () => {
    let heard = 0;
    const { h, store } = await denying({ gateway: { agent: { id: agentId, level: 'auto' } } });
    await h.gateway.call(call(h, 'c1'), { turn: 't' });
    await h.gateway.call(call(h, 'c2'), { turn: 't' });
    const granting = h.other({ approver: async () => ({ decision: 'approve', always: true }) });
    expect((await granting.call(call(h, 'c3', 'b'), { turn: 't' })).status).toBe('completed');
    const allowing = h.other({
      policy: () => {
        heard += 1;
        return { effect: 'allow' };
      },
    });
    expect((await allowing.call(call(h, 'c4'), { turn: 't' })).code).toBe('repeated-denial');
    expect(heard).toBe(0);
    expect((await allowing.call(call(h, 'c5', 'c'), { turn: 't' })).status).toBe('completed');
    expect((await store.grants.list(ann)).length).toBe(1);
  });

  test('other arguments, another turn, another session, another person are other calls', async () => {
    const { h, prompts } = await denying({ gateway: { maxRepeatDenials: 1 } });
    const at = { turn: 't' };
    await h.gateway.call(call(h, 'c1'), at);
    await h.gateway.call(call(h, 'c2', 'b'), at);
    await h.gateway.call(call(h, 'c3'), { turn: 'u' });
    await h.other({ session: 'another' }).call(call(h, 'c4'), at);
    await h.other({ person: ben }).call(call(h, 'c5'), at);
    await h.other({ agent: { id: agentId } }).call(call(h, 'c6'), at);
    expect(prompts()).toBe(6);
    expect((await h.gateway.call(call(h, 'c7'), at)).code).toBe('repeated-denial');
    expect(prompts()).toBe(6);
  });

  test('it holds in every process; what expired or was cancelled was not denied', async () => {
    const { h } = await denying({ gateway: { approver: undefined as never } });
    const at = { turn: 't' };
    const expired = await h.gateway.call(call(h, 'c1'), at);
    await h.clock.advance(900_000);
    expect((await h.gateway.resume(expired.step?.id ?? '')).status).toBe('expired');
    const cancelled = await h.gateway.call(call(h, 'c2'), at);
    await h.gateway.approvals.cancel(cancelled.step?.id ?? '');
    for (const id of ['c3', 'c4']) {
      const asked = await h.gateway.call(call(h, id), at);
      expect(asked.status).toBe('awaiting_approval');
      await h.other().approvals.deny(asked.step?.id ?? '', { by });
    }
    expect((await h.other().call(call(h, 'c5'), at)).code).toBe('repeated-denial');
  });

  test.each([5, null, '', {}, 'x'.repeat(201)])('a turn has to be a text: not %j', async (turn) => {
    const { h } = await denying();
    const given = { turn: turn as string };
    await expect(h.gateway.call(call(h, 'c1'), given)).rejects.toMatchObject({ code: 'option_invalid' });
    expect(await h.gateway.approvals.pending()).toEqual([]);
    expect((await h.gateway.call(call(h, 'c1'))).step).toBeDefined();
  });

  test('the limit has to be a number from 1 to 100', async () => {
    const { h } = await denying();
    for (const maxRepeatDenials of [0, 101, 1.5, '2' as never]) {
      expect(() => h.other({ maxRepeatDenials })).toThrow(
        expect.objectContaining({ code: 'option_invalid' }),
      );
    }
  });
});
