import { describe, expect, test } from 'vitest';
import { createSkillGateway } from '../../src/gateway/gateway.ts';
import { verifySkills } from '../../src/menu/skill-set.ts';
import type { SkillDocumentV2 } from '../../src/skill/document.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import {
  agentId,
  ann,
  approve,
  ben,
  harness,
  nameOf,
  passing,
  submitBodies,
  until,
} from '../support/harness.ts';
import { makeSkill } from '../support/skills.ts';

const by = ann.subject;
const title = (text: string) => ({ title: text });

describe('replays', () => {
  test('C7: the same id with the same arguments runs once, with other arguments it is another call', async () => {
    const h = await harness({ gateway: { approver: approve } });
    h.mock.next({ result: 'first' });
    h.mock.next({ result: 'second' });
    const call = (text: string) => h.gateway.call({ id: 'c1', name: h.slugify, arguments: title(text) });
    const outcomes = [await call('a'), await call('a'), await call('b')];
    expect(outcomes.map((outcome) => outcome.status === 'completed' && outcome.value.reveal())).toEqual([
      'first',
      'first',
      'second',
    ]);
    expect(h.mock.jobs).toBe(2);
  });

  test('the same call twice at once is asked once and runs once', async () => {
    let asked = 0;
    let decide = (): void => {};
    const h = await harness({
      gateway: {
        approver: async () => {
          asked += 1;
          await new Promise<void>((resolve) => {
            decide = resolve;
          });
          return { decision: 'approve' };
        },
      },
    });
    const call = { id: 'c1', name: h.slugify, arguments: title('a') };
    const outcomes = Promise.all([
      h.gateway.call(call),
      h.gateway.call(call),
      h.gateway.callAll([call, call]),
    ]);
    await until(() => asked > 0);
    decide();
    expect((await outcomes).flat().map((outcome) => outcome.status)).toEqual(Array(4).fill('completed'));
    expect([asked, h.mock.jobs]).toEqual([1, 1]);
  });

  test('C9: calls without an id are minted ones of their own, and never replays', async () => {
    const h = await harness({ gateway: { approver: approve } });
    const outcomes = await h.gateway.callAll([
      { id: '', name: h.slugify, arguments: title('a') },
      { id: '', name: h.slugify, arguments: title('a') },
      { name: h.slugify, arguments: title('a') },
    ]);
    expect(new Set(outcomes.map((outcome) => outcome.call.id)).size).toBe(3);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['completed', 'completed', 'completed']);
    expect(h.mock.jobs).toBe(3);
  });

  test('C24: a loop that runs again from its top after the approval gets the recorded result', async () => {
    const h = await harness();
    h.mock.next({ result: 'once' });
    const call = { id: 'c1', name: h.slugify, arguments: title('a') };
    const waiting = await h.gateway.call(call);
    await h.gateway.approvals.approve(waiting.step?.id ?? '', { by });
    const outcomes = [
      await h.gateway.call(call),
      await h.gateway.call(call),
      await h.gateway.resume(waiting.step?.id ?? ''),
    ];
    expect(outcomes.map((outcome) => outcome.status === 'completed' && outcome.value.reveal())).toEqual([
      'once',
      'once',
      'once',
    ]);
    expect(h.mock.jobs).toBe(1);
  });

  test('a new turn, another session and another person are other calls', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { approver: approve, store, session: 's' } });
    const call = { id: 'c1', name: h.slugify, arguments: title('a') };
    await h.gateway.call(call);
    h.gateway.newTurn();
    await h.gateway.call(call);
    await h.other({ session: 't' }).call(call);
    await h.other({ person: ben }).call(call);
    expect(h.mock.jobs).toBe(4);
    await h.other().call(call);
    expect(h.mock.jobs).toBe(4);
  });

  test('a replay in another process asks Run for the result; where Run has it no more it is duplicate_call', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { approver: approve, store, session: 's' } });
    h.mock.next({ result: 'kept by Run' });
    const call = { id: 'c1', name: h.slugify, arguments: title('a') };
    await h.gateway.call(call);
    const again = await h.other({ store: createMemoryStore(store.snapshot()) }).call(call);
    expect(again.status === 'completed' && again.value.reveal()).toBe('kept by Run');
    h.mock.fault({ on: 'get', kind: 'problem', status: 404, code: 'run.job_not_found', times: 9 });
    const gone = await h.other({ store: createMemoryStore(store.snapshot()) }).call(call);
    expect(gone).toMatchObject({ status: 'duplicate_call', executed: true });
    expect(gone.job?.id).toMatch(/^job_/);
    expect(h.mock.jobs).toBe(1);
  });

  test('C10: of two steps that wait, deciding one runs that one; the other goes on waiting', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const [one, two] = await h.gateway.callAll([
      { id: 'c1', name: h.slugify, arguments: title('a') },
      { id: 'c2', name: h.slugify, arguments: title('b') },
    ]);
    const other = h.other({ store: createMemoryStore(store.snapshot()) });
    await other.approvals.approve(two?.step?.id ?? '', { by });
    expect((await other.resumeAll()).map((outcome) => outcome.status)).toEqual(['completed']);
    expect((await other.resume(one?.step?.id ?? '')).status).toBe('awaiting_approval');
    expect(h.mock.jobs).toBe(1);
  });
});

describe('two processes over one store', () => {
  test('C28: one of another agent, without the skill, leaves what was approved to the one that has it', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, agent: { id: agentId, level: 'ask' } } });
    const asked = [];
    for (const id of ['c1', 'c2']) {
      const { step } = await h.gateway.call({ id, name: h.slugify, arguments: title(id) });
      await h.gateway.approvals.approve(step?.id ?? '', { by });
      asked.push(step?.id ?? '');
    }
    const other = { id: 'agt_01JBBBBBBBBBBBBBBBBBBBBBBB', level: 'ask' } as const;
    const without = h.other({ skills: await verifySkills([]), agent: other });
    expect(await without.resumeAll()).toEqual([]);
    expect((await passing(h.clock, h.gateway.resume(asked[0] ?? ''))).status).toBe('completed');
    await h.clock.advance(900_000);
    expect((await without.resumeAll()).map(({ status }) => status)).toEqual(['expired']);
    expect(h.mock.jobs).toBe(1);
  });

  test('C17: approving and resuming in two runs it once, with one job', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    const other = h.other();
    const decided = await Promise.allSettled([
      h.gateway.approvals.approve(id, { by }),
      other.approvals.approve(id, { by }),
    ]);
    expect(decided.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
    const outcomes = await passing(h.clock, Promise.all([h.gateway.resume(id), other.resume(id)]));
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['completed', 'completed']);
    expect(new Set(outcomes.map((outcome) => outcome.job?.id)).size).toBe(1);
    expect([h.mock.jobs, h.mock.submits]).toEqual([1, 1]);
  });

  test('C21: an approval and a denial at once: one wins, and never both a job and a denial', async () => {
    for (let round = 0; round < 10; round += 1) {
      const h = await harness();
      const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
      const id = waiting.step?.id ?? '';
      const results = await Promise.allSettled([
        h.gateway.approvals.approve(id, { by }),
        h.gateway.approvals.deny(id, { by }),
      ]);
      expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
      const outcome = await h.gateway.resume(id);
      expect([outcome.status, h.mock.jobs]).toEqual(
        results[0]?.status === 'fulfilled' ? ['completed', 1] : ['denied', 0],
      );
    }
  });

  test('C96, C100: when no answer came, the resume submits under the same key and gets the first job', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    h.mock.next({ result: 'once' });
    h.mock.fault({ on: 'submit', kind: 'drop-after', times: 4 });
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    expect(await passing(h.clock, h.gateway.resume(id))).toMatchObject({
      status: 'outcome_unknown',
      executed: 'unknown',
    });
    const outcome = await h.other({ store: createMemoryStore(store.snapshot()) }).resume(id);
    expect(outcome.status === 'completed' && outcome.value.reveal()).toBe('once');
    const keys = submitBodies(h).map((body) => body.idempotency_key);
    expect(keys).toHaveLength(5);
    expect(new Set(keys)).toEqual(new Set([`skill.run:${id}:1`]));
    expect(h.mock.jobs).toBe(1);
  });

  test('C100: a process that died while it submitted is taken over when its lease is over', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    h.mock.fault({ on: 'submit', kind: 'slow', ms: 5000 });
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    void h.gateway.resume(id);
    await until(async () => (await store.steps.get(id))?.attempts.length === 1);
    const atTheCrash = createMemoryStore(store.snapshot());
    expect(await atTheCrash.steps.get(id)).toMatchObject({ state: 'submitting', attempts: [{ job: null }] });
    const resumed = h.other({ store: atTheCrash }).resume(id);
    expect((await passing(h.clock, resumed)).status).toBe('completed');
    expect(h.mock.jobs).toBe(1);
  });

  test('C100: a process that died after the submit is followed by the job’s id', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    h.mock.next({ result: 1, runMs: 5000 });
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    void h.gateway.resume(id);
    await until(async () => (await store.steps.get(id))?.attempts[0]?.job);
    const atTheCrash = createMemoryStore(store.snapshot());
    const record = await atTheCrash.steps.get(id);
    const resumed = h.other({ store: atTheCrash }).resume(id);
    expect(await passing(h.clock, resumed)).toMatchObject({
      status: 'completed',
      job: { id: record?.attempts[0]?.job },
    });
    expect([h.mock.jobs, h.mock.submits]).toEqual([1, 1]);
  });
});

type Change = (document: SkillDocumentV2) => void;

describe('C58: what changed since the approval does not run', () => {
  const changes: [string, Change][] = [
    ['description', (d) => Object.assign(d.tools?.[0] ?? {}, { description: 'Other words.' })],
    [
      'args',
      (d) =>
        Object.assign(d.tools?.[0] ?? {}, {
          args: { type: 'object', properties: { title: { type: 'string' } } },
        }),
    ],
    ['net', (d) => Object.assign(d.tools?.[0] ?? {}, { net: 'public' })],
    ['limits', (d) => Object.assign(d.tools?.[0] ?? {}, { limits: { wall_ms: 10_001 } })],
    ['a code byte', (d) => Object.assign(d.resources?.[0] ?? {}, { text: `${d.resources?.[0]?.text} ` })],
  ];
  test.each(changes)('%s', async (_, change) => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    const changed = await verifySkills([await makeSkill({ document: change })]);
    const outcome = await h.other({ skills: changed }).resume(id);
    expect(outcome).toMatchObject({ status: 'skill_unavailable', executed: false });
    expect(outcome.message).toContain('changed since approval');
    expect(h.mock.jobs).toBe(0);
  });

  test.each(['resume', 'resumeAll'] as const)('a skill that is gone: %s', async (how) => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const id = waiting.step?.id ?? '';
    await h.gateway.approvals.approve(id, { by });
    const empty = h.other({ skills: await verifySkills([]) });
    const [outcome] = how === 'resume' ? [await empty.resume(id)] : await empty.resumeAll();
    expect(outcome).toMatchObject({ status: 'skill_unavailable', executed: false, step: { id } });
    expect(await h.gateway.resumeAll()).toEqual([]);
    expect(h.mock.jobs).toBe(0);
  });
});

describe('C57: an update asks again', () => {
  test.each<[string, Partial<SkillDocumentV2>]>([
    ['the next version with identical code', { version: '1.0.1' }],
    ['the same version with other bytes', { instructions: 'Other.' }],
    ['a slug that begins the same', { slug: 'slugify-a-title-2' }],
  ])('%s', async (_, change) => {
    const store = createMemoryStore();
    const h = await harness({
      gateway: { store, approver: async () => ({ decision: 'approve', always: true }) },
    });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    expect(await h.grants.list()).toHaveLength(1);
    const skills = await verifySkills([await makeSkill({ document: change })]);
    const later = createSkillGateway({ person: ann, skills, run: h.run, clock: h.clock, store });
    const outcome = await later.call({ id: 'c2', name: nameOf(skills, 'slugify'), arguments: title('b') });
    expect(outcome.status).toBe('awaiting_approval');
  });

  test('C57: the same version with a wider net is refused until the "always" of before is revoked', async () => {
    const store = createMemoryStore();
    const h = await harness({
      gateway: { store, approver: async () => ({ decision: 'approve', always: true }) },
    });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const [grant] = await h.grants.list();
    const document: Change = (d) => Object.assign(d.tools?.[0] ?? {}, { net: 'public' });
    const skills = await verifySkills([await makeSkill({ document })]);
    const later = h.other({ skills, approver: undefined as never });
    const call = (id: string) => later.call({ id, name: nameOf(skills, 'slugify'), arguments: title('b') });
    expect(await call('c2')).toMatchObject({ status: 'refused', code: 'net-widened', executed: false });
    expect(await later.approvals.pending()).toEqual([]);
    await later.grants.revoke(grant?.id ?? '');
    expect((await call('c3')).status).toBe('awaiting_approval');
    expect(h.mock.jobs).toBe(1);
  });

  test('C59: a grant is not another person’s, project’s or agent’s', async () => {
    const store = createMemoryStore();
    const h = await harness({
      gateway: { store, approver: async () => ({ decision: 'approve', always: true }) },
    });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: title('a') });
    const others = [
      { person: ben },
      { person: { ...ann, project: ben.project } },
      { agent: { id: 'agt_01JAB2C3D4E5F6G7H8J9K0MNPQ' } },
    ];
    for (const change of others) {
      const { approver: _, ...rest } = { approver: undefined, ...change };
      const gateway = createSkillGateway({
        person: ann,
        skills: h.skills,
        run: h.run,
        clock: h.clock,
        store,
        ...rest,
      });
      const outcome = await gateway.call({ id: 'c2', name: h.slugify, arguments: title('b') });
      expect(outcome.status).toBe('awaiting_approval');
    }
  });
});
