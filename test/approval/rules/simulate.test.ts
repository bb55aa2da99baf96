import { expect, test } from 'vitest';
import { compileRules } from '../../../src/approval/rules/compile.ts';
import { simulate } from '../../../src/approval/rules/simulate.ts';
import type { StepRecord } from '../../../src/step/record.ts';
import { createMemoryStore } from '../../../src/store/memory.ts';
import { agentId, approve, harness } from '../../support/harness.ts';

test('recorded steps are judged by other rules, by the facts of then', async () => {
  const store = createMemoryStore();
  const agent = { id: agentId, level: 'auto' } as const;
  const h = await harness({ gateway: { store, agent, session: 's', approver: approve, maxPending: 1 } });
  const call = (title: string) => ({ name: h.slugify, arguments: { title } });
  await h.gateway.call(call('asked'));
  await h.other({ policy: () => ({ effect: 'allow' }) }).call(call('allowed'));
  await h.other({ policy: () => ({ effect: 'deny' }) }).call(call('denied'));
  const waiting = h.other({ approver: undefined as never });
  await waiting.call(call('waits'));
  expect((await waiting.call(call('one too many'))).code).toBe('too-many-pending');
  await h.gateway.call({ name: h.fetchTitle, arguments: { url: 'https://a.example' } });
  const records: StepRecord[] = JSON.parse(store.snapshot()).steps;
  const older = records.map((record) => ({ ...record, facts: null }));

  const policy = await compileRules([
    { id: 'quiet', effect: 'allow', when: 'args.title != "asked" || taint', reason: 'Quiet.' },
    { id: 'early', effect: 'deny', when: 'count.session == 0', reason: 'Too early.' },
    { id: 'pool', effect: 'ask', when: 'placement != "unknown"', reason: 'Elsewhere.' },
  ]);
  const simulated = await simulate(policy, [...records, ...older.slice(0, 1)]);
  expect(simulated.map((one) => ('was' in one ? [one.was, one.now, one.changed] : one.now))).toEqual([
    ['ask', 'refuse', true],
    ['allow', 'allow', false],
    ['refuse', 'allow', true],
    ['ask', 'allow', true],
    ['ask', 'allow', true],
    // A tool with network is asked for, whatever a rule allows; without a title the rule is broken.
    ['ask', 'ask', false],
    'unknown',
  ]);
  expect(simulated[0]).toMatchObject({ step: records[0]?.id, why: 'early: Too early.' });
  // Nothing was stored or run by it.
  expect(JSON.parse(store.snapshot()).steps).toEqual(records);
});

test('where it would have run is what was seen then', async () => {
  const store = createMemoryStore();
  const rules = (when: string) => compileRules([{ id: 'd', effect: 'deny', when, reason: 'So it is.' }]);
  const h = await harness({ gateway: { store, policy: await rules('placement == "own"') } });
  await h.gateway.call({ name: h.slugify, arguments: { title: 'a' } });
  const records: StepRecord[] = JSON.parse(store.snapshot()).steps;
  const now = async (when: string) => (await simulate(await rules(when), records))[0]?.now;
  expect(await now('placement == "pool"')).toBe('refuse');
  expect(await now('placement == "unknown"')).toBe('ask');
});
