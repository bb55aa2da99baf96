import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { canonicalJson, type Json } from '../../src/skill/json.ts';
import { sha256 } from '../../src/skill/sha256.ts';
import type { StepRecord } from '../../src/step/record.ts';
import { advance } from '../../src/step/transitions.ts';
import { auditRoot, chainEntry } from '../../src/store/audit.ts';
import type { StorePort } from '../../src/store/port.ts';
import { ann, ben } from '../support/harness.ts';
import { someEnd, someStep, someTime } from '../support/step.ts';
import { appendAudit, someFacts, someGrant } from './some.ts';

/**
 * What every store must do.
 *
 * @param fresh opens a store with nothing in it, for one test
 */
export function storeSuite(fresh: () => Promise<StorePort>): void {
  describe('steps', () => {
    test('C18: of 20 updates from one revision at once, exactly one is stored', async () => {
      const store = await fresh();
      const { step } = await store.steps.create(someStep());
      const whys = Array.from({ length: 20 }, (_, n) => `${n}`);
      const stored = await Promise.all(whys.map((why) => store.steps.update(advance(step, { why }))));
      expect(stored.filter(Boolean)).toHaveLength(1);
      expect(await store.steps.get(step.id)).toMatchObject({ revision: 2, why: whys[stored.indexOf(true)] });
    });

    test('an update of an unknown step, or to any revision but the next, is not stored', async () => {
      const store = await fresh();
      const { step } = await store.steps.create(someStep());
      expect(await store.steps.update(someStep({ revision: 2 }))).toBe(false);
      for (const revision of [0, 1, 3, Number.NaN]) {
        expect(await store.steps.update({ ...step, revision })).toBe(false);
      }
      expect(await store.steps.get(step.id)).toEqual(step);
    });

    test('20 creations with one replay key at once make one step; null is no key', async () => {
      const store = await fresh();
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
      const store = await fresh();
      const steps = [someStep(), someStep(), someStep({ state: 'denied' })];
      const others = [
        { ...ann, project: ben.project },
        { ...ben, project: ann.project },
      ];
      for (const owner of others) steps.push(someStep({ owner: { ...owner, agent: null } }));
      for (const step of steps) await store.steps.create(step);
      expect((await store.steps.open(ann)).map(({ id }) => id)).toEqual(
        steps.slice(0, 2).map(({ id }) => id),
      );
      for (const step of steps.slice(0, 2))
        await store.steps.update(advance(step, { state: 'superseded', end: someEnd }));
      expect(await store.steps.open(ann)).toEqual([]);
    });

    test('what was made first is listed first, whatever was stored of it since', async () => {
      const store = await fresh();
      const [one, two] = [0, 1].map((ms) =>
        someStep({ id: newId('stp', someTime + ms), state: 'cancelled' }),
      );
      if (one === undefined || two === undefined) throw new Error('There are two.');
      const open = { state: 'pending', end: null } as const;
      for (const step of [one, { ...two, ...open }]) await store.steps.create(step);
      await store.steps.update({ ...one, ...open, revision: 2 });
      expect((await store.steps.open(ann)).map(({ id }) => id)).toEqual([one.id, two.id]);
    });

    test('what is not an id names nothing', async () => {
      const store = await fresh();
      for (const id of ['', '\0', '__proto__', '\ud800', 'stp_', `${someStep().id}'`, 'x'.repeat(100_000)]) {
        expect(await store.steps.get(id)).toBeUndefined();
        expect(await store.grants.remove(id, ann)).toBe(false);
      }
    });

    test('what could not be read again is not stored, and is in nobody’s way', async () => {
      const store = await fresh();
      const { step } = await store.steps.create(someStep());
      for (const bad of [{ turn: 5 }, { turn: null }, { createdAt: Number.NaN }, { session: undefined }]) {
        const broken = { ...someStep(), ...bad } as unknown as StepRecord;
        await expect(store.steps.create(broken)).rejects.toMatchObject({ code: 'step_invalid' });
        const next = { ...step, ...bad, revision: 2 } as unknown as StepRecord;
        await expect(store.steps.update(next)).rejects.toMatchObject({ code: 'step_invalid' });
      }
      expect(await store.steps.open(ann)).toEqual([step]);
    });

    test('any text of a host or a model comes back as it was', async () => {
      const store = await fresh();
      const texts = [
        '',
        '\0',
        "'; drop table skill_run_steps; --",
        '\ud800',
        '\ud801',
        'é\u0301',
        'x'.repeat(100_000),
      ];
      const scope = { subject: ann.subject, project: ann.project };
      for (const text of texts) {
        const step = someStep({ session: text, turn: text, why: text, call: { id: text, name: text } });
        expect((await store.steps.create(step)).step).toEqual(step);
        expect(await store.steps.get(step.id)).toEqual(step);
        const key = `key ${text}`;
        expect(await store.allowance.put({ key, revision: 1, spent: 0.5, held: {} })).toBe(true);
        expect(await store.allowance.get(key)).toEqual({ key, revision: 1, spent: 0.5, held: {} });
      }
      for (const text of texts) expect(await store.steps.count({ scope, session: text, turn: text })).toBe(1);
    });
  });

  describe('grants', () => {
    test('of two grants of one key the first stays; only its person removes it', async () => {
      const store = await fresh();
      const [one, two] = [await someGrant(), await someGrant()];
      const put = [await store.grants.put(one), await store.grants.put(two)];
      expect(put.map(({ id }) => id)).toEqual([one.id, one.id]);
      expect(await store.grants.remove(one.id, ben)).toBe(false);
      expect(await store.grants.remove(two.id, ann)).toBe(false);
      expect(await store.grants.list(ben)).toEqual([]);
      expect(await store.grants.list(ann)).toEqual([one]);
      expect(await store.grants.find(one.key)).toEqual(one);
      expect(await store.grants.remove(one.id, ann)).toBe(true);
      expect(await store.grants.find(one.key)).toBeUndefined();
    });

    test('20 grants of one key at once are one grant, for everybody the same', async () => {
      const store = await fresh();
      const grants = await Promise.all(Array.from({ length: 20 }, () => someGrant()));
      const put = await Promise.all(grants.map((grant) => store.grants.put(grant)));
      expect(new Set(put.map(({ id }) => id)).size).toBe(1);
      expect(await store.grants.list(ann)).toEqual([put[0]]);
    });
  });

  describe('the audit', () => {
    test('50 appends at once give one unbroken chain, and every hash can be made again', async () => {
      const store = await fresh();
      await Promise.all(Array.from({ length: 50 }, (_, n) => appendAudit(store, ann, `${n}`)));
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

    test('an entry that does not follow the head is not stored', async () => {
      const store = await fresh();
      const next = async (head: Parameters<typeof chainEntry>[1], change: object = {}) => ({
        ...(await chainEntry(ann, head, newId('aud', someTime), someFacts)),
        ...change,
      });
      const one = await next(undefined);
      expect(await store.audit.append(ann, await next(one))).toBe(false);
      expect(await store.audit.append(ann, one)).toBe(true);
      const two = await next(one);
      const wrong = [
        one,
        await next(undefined),
        { ...two, seq: 1 },
        { ...two, seq: 3 },
        { ...two, seq: Number.NaN },
        { ...two, previous: auditRoot },
        { ...two, previous: 'f'.repeat(64) },
      ];
      for (const entry of wrong) expect(await store.audit.append(ann, entry)).toBe(false);
      expect(await store.audit.append(ben, two)).toBe(false);
      expect(await store.audit.append(ann, two)).toBe(true);
      expect(await store.audit.head(ann)).toEqual(two);
      expect(await store.audit.list(ann)).toEqual([one, two]);
    });

    test('is read in pages', async () => {
      const store = await fresh();
      for (let n = 0; n < 5; n += 1) await appendAudit(store, ann, `${n}`);
      const seqs = async (page: object) => (await store.audit.list(ann, page)).map(({ seq }) => seq);
      expect(await seqs({ after: 1, limit: 2 })).toEqual([2, 3]);
      expect(await seqs({ after: 3 })).toEqual([4, 5]);
      expect(await seqs({ limit: 0 })).toEqual([]);
      expect(await seqs({ after: 5 })).toEqual([]);
    });
  });

  describe('what is handed in or out', () => {
    test('cannot be used to change what is stored', async () => {
      const store = await fresh();
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

      const entry = structuredClone(await chainEntry(ann, undefined, newId('aud', someTime), someFacts));
      await store.audit.append(ann, entry);
      Object.assign(entry, { event: 'approve' });
      ((await store.audit.list(ann)) as unknown[]).length = 0;
      expect(await store.audit.head(ann)).toMatchObject({ event: 'ask' });
    });
  });

  describe('allowances', () => {
    test('of 20 writes of one revision at once, exactly one is stored', async () => {
      const store = await fresh();
      const record = { key: 'k', revision: 1, spent: 0, held: {} };
      const stored = await Promise.all(
        Array.from({ length: 20 }, (_, spent) => store.allowance.put({ ...record, spent })),
      );
      expect(stored.filter(Boolean)).toHaveLength(1);
      for (const revision of [0, 1, 3, Number.NaN]) {
        expect(await store.allowance.put({ ...record, revision })).toBe(false);
      }
      expect(await store.allowance.put({ ...record, revision: 2, spent: 7 })).toBe(true);
      expect(await store.allowance.get('k')).toEqual({ ...record, revision: 2, spent: 7 });
      expect(await store.allowance.get('other')).toBeUndefined();
    });
  });

  describe('counting', () => {
    test('takes every part of the query, and exactly this person and session', async () => {
      const store = await fresh();
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
      await store.steps.update(advance(made[0] as never, { state: 'denied', end: someEnd }));
      expect(await count({ state: 'denied' })).toBe(2);
    });
  });
}
