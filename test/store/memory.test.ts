import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import { advance } from '../../src/step/transitions.ts';
import { chainEntry } from '../../src/store/audit.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { ann } from '../support/harness.ts';
import { someStep, someTime } from '../support/step.ts';
import { someFacts, someGrant } from './some.ts';
import { storeSuite } from './suite.ts';

storeSuite(async () => createMemoryStore());

describe('snapshots', () => {
  test('carry everything to another store', async () => {
    const store = createMemoryStore();
    const { step } = await store.steps.create(someStep({ replayKey: 'k' }));
    await store.steps.update(advance(step, { state: 'approved' }));
    const grant = await store.grants.put(await someGrant());
    await store.audit.append(ann, await chainEntry(ann, undefined, newId('aud', someTime), someFacts));
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
      await other.audit.append(ann, await chainEntry(ann, undefined, newId('aud', someTime), someFacts)),
    ).toBe(false);
    expect(
      await other.audit.append(ann, await chainEntry(ann, first, newId('aud', someTime), someFacts)),
    ).toBe(true);
  });

  test('another text is snapshot_invalid', async () => {
    const store = createMemoryStore();
    await store.steps.create(someStep());
    await store.grants.put(await someGrant());
    await store.audit.append(ann, await chainEntry(ann, undefined, newId('aud', someTime), someFacts));
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
    // What a newer version wrote may hold a condition that this one would pass over.
    for (const newer of [
      { steps: [{ ...good.steps[0], schema: 3 }] },
      { grants: [{ ...good.grants[0], schema: 2 }] },
      { allowance: [{ schema: 2, key: 'k', revision: 1, spent: 0, held: {} }] },
    ]) {
      const code = newer.steps ? 'step_schema_unknown' : 'store_schema_unknown';
      const text = JSON.stringify({ ...good, ...newer });
      expect(() => createMemoryStore(text)).toThrow(expect.objectContaining({ code }));
    }
  });
});
