import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { canonicalJson, type Json } from '../../src/skill/json.ts';
import { sha256 } from '../../src/skill/sha256.ts';
import { advance } from '../../src/step/transitions.ts';
import { type AuditFacts, auditRoot, chainEntry } from '../../src/store/audit.ts';
import { type Grant, grantKeyOf, grantScopeOf } from '../../src/store/grant.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { ann, ben } from '../support/harness.ts';
import { someStep, someTime } from '../support/step.ts';

async function someGrant(): Promise<Grant> {
  const step = someStep();
  const scope = grantScopeOf(step);
  const key = await grantKeyOf(scope);
  return { id: newId('grt', someTime), scope, key, by: ann.subject, step: step.id, createdAt: 'now' };
}

const facts: AuditFacts = {
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

describe('steps', () => {
  test('of 20 updates from one revision at once, exactly one is stored', async () => {
    const store = createMemoryStore();
    const { step } = await store.steps.create(someStep());
    const whys = Array.from({ length: 20 }, (_, n) => `${n}`);
    const stored = await Promise.all(whys.map((why) => store.steps.update(advance(step, { why }))));
    expect(stored.filter(Boolean)).toHaveLength(1);
    expect(await store.steps.get(step.id)).toMatchObject({ revision: 2, why: whys[stored.indexOf(true)] });
  });

  test('an update of an unknown step, or to any revision but the next, is not stored', async () => {
    const store = createMemoryStore();
    const { step } = await store.steps.create(someStep());
    expect(await store.steps.update(someStep({ revision: 2 }))).toBe(false);
    for (const revision of [0, 1, 3, Number.NaN]) {
      expect(await store.steps.update({ ...step, revision })).toBe(false);
    }
    expect(await store.steps.get(step.id)).toEqual(step);
  });

  test('20 creations with one replay key at once make one step; null is no key', async () => {
    const store = createMemoryStore();
    const made = await Promise.all(
      Array.from({ length: 20 }, () => store.steps.create(someStep({ replayKey: 'k' }))),
    );
    expect(made.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(made.map(({ step }) => step.id)).size).toBe(1);
    expect((await store.steps.findReplay('k'))?.id).toBe(made[0]?.step.id);
    expect(await store.steps.findReplay('')).toBeUndefined();
    expect((await store.steps.create(someStep())).created).toBe(true);
    expect((await store.steps.create(someStep())).created).toBe(true);
  });

  test('only open steps of exactly this person and project are listed, oldest first', async () => {
    const store = createMemoryStore();
    const steps = [someStep(), someStep(), someStep({ state: 'denied' })];
    const others = [
      { ...ann, project: ben.project },
      { ...ben, project: ann.project },
    ];
    for (const owner of others) steps.push(someStep({ owner: { ...owner, agent: null } }));
    for (const step of steps) await store.steps.create(step);
    expect((await store.steps.open(ann)).map(({ id }) => id)).toEqual(steps.slice(0, 2).map(({ id }) => id));
  });
});

describe('grants', () => {
  test('of two grants of one key the first stays; only its person removes it', async () => {
    const store = createMemoryStore();
    const [one, two] = [await someGrant(), await someGrant()];
    expect((await Promise.all([store.grants.put(one), store.grants.put(two)])).map(({ id }) => id)).toEqual([
      one.id,
      one.id,
    ]);
    expect(await store.grants.remove(one.id, ben)).toBe(false);
    expect(await store.grants.remove(two.id, ann)).toBe(false);
    expect(await store.grants.list(ben)).toEqual([]);
    expect(await store.grants.find(one.key)).toEqual(one);
    expect(await store.grants.remove(one.id, ann)).toBe(true);
    expect(await store.grants.find(one.key)).toBeUndefined();
  });
});

describe('the audit', () => {
  test('50 appends at once give one unbroken chain, and every hash can be made again', async () => {
    const store = createMemoryStore();
    const append = async (status: string): Promise<void> => {
      for (;;) {
        const head = await store.audit.head(ann);
        const entry = await chainEntry(ann, head, newId('aud', someTime), { ...facts, status });
        if (await store.audit.append(ann, entry)) return;
      }
    };
    await Promise.all(Array.from({ length: 50 }, (_, n) => append(`${n}`)));
    const chain = await store.audit.list(ann);
    expect(chain.map(({ seq }) => seq)).toEqual(Array.from({ length: 50 }, (_, n) => n + 1));
    expect(new Set(chain.map(({ status }) => status)).size).toBe(50);
    let previous = auditRoot;
    for (const { hash, ...body } of chain) {
      expect(body.previous).toBe(previous);
      const whole = { chain: { subject: ann.subject, project: ann.project }, body };
      expect(await sha256(canonicalJson(whole as unknown as Json))).toBe(hash);
      previous = hash;
    }
    expect(await store.audit.list(ben)).toEqual([]);
  });
});

describe('what is handed in or out', () => {
  test('cannot be used to change what is stored', async () => {
    const store = createMemoryStore();
    const given = structuredClone(someStep({ replayKey: 'k' }));
    const expected = structuredClone(given);
    const { step } = await store.steps.create(given);
    Object.assign(given.run.arguments, { title: 'changed' });
    Object.assign(given, { state: 'approved' });
    const out = [
      step,
      await store.steps.get(step.id),
      await store.steps.findReplay('k'),
      ...(await store.steps.open(ann)),
    ];
    for (const one of out) {
      expect(() => Object.assign(one ?? {}, { state: 'approved' })).toThrow(TypeError);
      expect(() => Object.assign(one?.run.arguments ?? {}, { title: 'changed' })).toThrow(TypeError);
      expect(() => Object.assign(one?.owner ?? {}, { subject: ben.subject })).toThrow(TypeError);
    }
    expect(await store.steps.get(step.id)).toEqual(expected);

    const grant = structuredClone(await someGrant());
    await store.grants.put(grant);
    Object.assign(grant.scope, { net: 'public' });
    expect((await store.grants.find(grant.key))?.scope.net).toBe('deny');

    const entry = structuredClone(await chainEntry(ann, undefined, newId('aud', someTime), facts));
    await store.audit.append(ann, entry);
    Object.assign(entry, { event: 'approve' });
    ((await store.audit.list(ann)) as unknown[]).length = 0;
    expect(await store.audit.head(ann)).toMatchObject({ event: 'ask' });
  });
});

describe('snapshots', () => {
  test('carry everything to another store', async () => {
    const store = createMemoryStore();
    const { step } = await store.steps.create(someStep({ replayKey: 'k' }));
    await store.steps.update(advance(step, { state: 'approved' }));
    const grant = await store.grants.put(await someGrant());
    await store.audit.append(ann, await chainEntry(ann, undefined, newId('aud', someTime), facts));
    await store.allowance.put({ key: 'k', revision: 1, spent: 2, held: { [step.id]: 10 } });
    const other = createMemoryStore(store.snapshot());
    expect(other.snapshot()).toBe(store.snapshot());
    expect((await other.steps.create(someStep({ replayKey: 'k' }))).step).toMatchObject({
      id: step.id,
      state: 'approved',
    });
    expect(await other.grants.find(grant.key)).toEqual(grant);
    const [first] = await other.audit.list(ann);
    expect(
      await other.audit.append(ann, await chainEntry(ann, undefined, newId('aud', someTime), facts)),
    ).toBe(false);
    expect(await other.audit.append(ann, await chainEntry(ann, first, newId('aud', someTime), facts))).toBe(
      true,
    );
  });

  test('another text is snapshot_invalid', async () => {
    const store = createMemoryStore();
    await store.steps.create(someStep());
    await store.grants.put(await someGrant());
    await store.audit.append(ann, await chainEntry(ann, undefined, newId('aud', someTime), facts));
    const good = JSON.parse(store.snapshot());
    const [[scope, entries]] = good.audit;
    const changes: Record<string, unknown>[] = [
      { store: 'openvibe-skill-run.memory@3' },
      { steps: undefined },
      { steps: {} },
      { steps: [null] },
      { steps: [{ ...good.steps[0], schema: '2' }] },
      { steps: [{ ...good.steps[0], schema: 0.5 }] },
      { steps: [{ ...good.steps[0], id: '__proto__' }] },
      { steps: [{ ...good.steps[0], state: 'constructor' }] },
      { steps: [{ ...good.steps[0], owner: { subject: 'x', project: 'y' } }] },
      { steps: [{ ...good.steps[0], revision: '1' }] },
      { steps: [{ ...good.steps[0], run: null }] },
      { steps: [{ ...good.steps[0], attempts: [1] }] },
      { steps: [{ ...good.steps[0], cancelAsked: undefined }] },
      { steps: [{ ...good.steps[0], hold: {} }] },
      { steps: [{ ...good.steps[0], facts: undefined }] },
      { allowance: {} },
      { allowance: [{ key: 'k', revision: 1, spent: 0, held: { stp: '1' } }] },
      { grants: 'abc' },
      { grants: [{}] },
      { grants: 5 },
      { audit: [1] },
      { audit: [[scope]] },
      { audit: [[scope, [{}]]] },
      { audit: [[{}, entries]] },
    ];
    const texts = ['', 'null', '[]', '{}', '5', 'not JSON', '{"store":"openvibe-skill-run.memory@1"}'];
    for (const text of [...texts, ...changes.map((change) => JSON.stringify({ ...good, ...change }))]) {
      expect(() => createMemoryStore(text)).toThrow(expect.objectContaining({ code: 'snapshot_invalid' }));
    }
    expect(() => createMemoryStore(JSON.stringify(good))).not.toThrow();
  });
});

describe('allowances', () => {
  test('of 20 writes of one revision at once, exactly one is stored', async () => {
    const store = createMemoryStore();
    const record = { key: 'k', revision: 1, spent: 0, held: {} };
    const stored = await Promise.all(
      Array.from({ length: 20 }, (_, spent) => store.allowance.put({ ...record, spent })),
    );
    expect(stored.filter(Boolean)).toHaveLength(1);
    for (const revision of [0, 1, 3]) expect(await store.allowance.put({ ...record, revision })).toBe(false);
    expect(await store.allowance.put({ ...record, revision: 2, spent: 7 })).toBe(true);
    expect(await store.allowance.get('k')).toEqual({ ...record, revision: 2, spent: 7 });
    expect(await store.allowance.get('other')).toBeUndefined();
  });
});

describe('counting', () => {
  test('takes every part of the query, and exactly this person and session', async () => {
    const store = createMemoryStore();
    const end = { status: 'completed', executed: true, message: '', at: '' } as const;
    const unknown = { ...end, status: 'outcome_unknown', executed: 'unknown' } as const;
    const made = [
      someStep(),
      someStep({ state: 'denied', end: { ...end, status: 'denied', executed: false } }),
      someStep({ state: 'ended', turn: 'u', end }),
      someStep({ state: 'ended', digest: 'd'.repeat(64), end: unknown }),
      someStep({ session: 'other' }),
      someStep({ owner: { ...ben, agent: null } }),
    ];
    for (const step of made) await store.steps.create(step);
    const scope = { subject: ann.subject, project: ann.project };
    const count = (query: object) => store.steps.count({ scope, session: 's', ...query });
    expect(await count({})).toBe(4);
    expect(await count({ turn: 't' })).toBe(3);
    expect(await count({ turn: 't', digest: 'c'.repeat(64) })).toBe(2);
    expect(await count({ turn: 't', digest: 'c'.repeat(64), state: 'denied' })).toBe(1);
    expect(await count({ ran: true })).toBe(2);
    expect(await count({ session: 'none' })).toBe(0);
  });
});
