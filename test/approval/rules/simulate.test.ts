import { describe, expect, test } from 'vitest';
import { compileRules } from '../../../src/approval/rules/compile.ts';
import { simulate } from '../../../src/approval/rules/simulate.ts';
import { verifySkills } from '../../../src/menu/skill-set.ts';
import type { StepRecord } from '../../../src/step/record.ts';
import { createMemoryStore } from '../../../src/store/memory.ts';
import { agentId, ann, approve, harness, nameOf } from '../../support/harness.ts';
import { makeSkill } from '../../support/skills.ts';

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

describe('the same policy has changed nothing', () => {
  const by = ann.subject;
  const agent = { id: agentId, level: 'auto' } as const;

  test('of a step that was edited it is not known: what was recorded is of other arguments', async () => {
    const store = createMemoryStore();
    const policy = await compileRules([
      { id: 'a', effect: 'allow', when: 'args.title == "mine"', reason: 'Mine.' },
    ]);
    const h = await harness({ gateway: { store, agent, policy } });
    const { step } = await h.gateway.call({ id: '1', name: h.slugify, arguments: { title: 'the model’s' } });
    await h.gateway.approvals.approve(step?.id ?? '', { by, arguments: { title: 'mine' } });
    const records: StepRecord[] = JSON.parse(store.snapshot()).steps;
    expect(await simulate(policy, records)).toEqual([
      { step: step?.id, target: step?.target, now: 'unknown' },
    ]);
  });

  test('nor of one that policy asked for, and that a narrower grant refused', async () => {
    const store = createMemoryStore();
    const policy = await compileRules([{ id: 'a', effect: 'ask', when: 'true', reason: 'Each.' }]);
    const widened = async (net: 'deny' | 'public') => {
      const skill = await makeSkill({
        document: (document) => {
          for (const tool of document.tools ?? []) Object.assign(tool, { net });
        },
      });
      return harness({ gateway: { store, agent, policy, skills: await verifySkills([skill]) } });
    };
    const narrow = await widened('deny');
    const first = await narrow.gateway.call({
      name: nameOf(narrow.skills, 'slugify'),
      arguments: { title: 'a' },
    });
    await narrow.gateway.approvals.approve(first.step?.id ?? '', { by, always: true });
    const wide = await widened('public');
    const call = { name: nameOf(wide.skills, 'slugify'), arguments: { title: 'b' } };
    expect(await wide.gateway.call(call)).toMatchObject({ status: 'refused', code: 'net-widened' });
    const records: StepRecord[] = JSON.parse(store.snapshot()).steps;
    const simulated = await simulate(policy, records);
    expect(simulated.map((one) => 'was' in one && [one.was, one.now, one.changed])).toEqual([
      ['ask', 'ask', false],
      ['ask', 'ask', false],
    ]);
  });
});
