import { expect, test } from 'vitest';
import { checkedStore } from '../../src/store/checked.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import { agentId, ann, ben, harness } from '../support/harness.ts';
import { someStep } from '../support/step.ts';
import { someGrant } from './some.ts';

const invalid = expect.objectContaining({ code: 'store_invalid' });

/** A store that answers one thing, whatever it is asked. */
function saying(answer: unknown): StorePort {
  const say = async (): Promise<never> => answer as never;
  return checkedStore({
    durable: true,
    steps: { create: say, get: say, findReplay: say, update: say, open: say, count: say },
    grants: { put: say, find: say, list: say, remove: say },
    audit: { head: say, append: say, list: say },
    allowance: { get: say, put: say },
  });
}

test('C2: another record than the one that was asked for is store_invalid', async () => {
  const [step, grant] = [someStep({ replayKey: 'k' }), await someGrant()];
  const other = { subject: ben.subject, project: ben.project };
  const wrong: Promise<unknown>[] = [
    saying(step).steps.get('stp_01JBBBBBBBBBBBBBBBBBBBBBBB'),
    saying(step).steps.findReplay('other'),
    saying([step]).steps.open(other),
    saying({ created: true, step }).steps.create(someStep()),
    saying({ created: false, step }).steps.create(someStep({ replayKey: 'other' })),
    saying(grant).grants.find('other'),
    saying(grant).grants.put({ ...grant, key: 'other' }),
    saying([grant]).grants.list(other),
    saying({ key: 'k', revision: 1, spent: 0, held: {} }).allowance.get('other'),
    saying({}).grants.find(grant.key),
    saying({}).audit.head(ann),
    saying([{}]).audit.list(ann),
  ];
  for (const answer of wrong) await expect(answer).rejects.toEqual(invalid);
  expect(await saying(step).steps.get(step.id)).toEqual(step);
  expect(await saying(grant).grants.find(grant.key)).toEqual(grant);
  // Nothing but `true` says that something was done.
  for (const answer of [undefined, 1, 'true', {}]) {
    expect(await saying(answer).steps.update(step)).toBe(false);
    expect(await saying(answer).grants.remove(grant.id, ann)).toBe(false);
    expect(await saying(answer).allowance.put({ key: 'k', revision: 1, spent: 0, held: {} })).toBe(false);
  }
});

test('a record of an older schema is brought up to date; one of a newer is told, and nothing runs', async () => {
  const { facts, edited, hold, ...rest } = someStep();
  const older = { ...rest, schema: 1 };
  expect(await saying(older).steps.get(rest.id)).toMatchObject({ schema: 2, facts: null, hold: null });
  await expect(saying({ ...older, schema: 3 }).steps.get(rest.id)).rejects.toMatchObject({
    code: 'step_schema_unknown',
  });
});

test.each([
  ['the grant of another tool', (grant: unknown) => grant],
  ['no grant at all', () => ({})],
  ['a grant of a newer version', (grant: unknown) => ({ ...(grant as object), schema: 2 })],
])('a store of the host’s that finds %s lets nothing run unasked', async (_, change) => {
  const memory = createMemoryStore();
  const h = await harness({ gateway: { store: memory, agent: { id: agentId, level: 'auto' } } });
  await h
    .other({ approver: async () => ({ decision: 'approve', always: true }) })
    .call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
  const [grant] = await h.grants.list();
  const find = async () => change(grant) as never;
  const other = h.other({ store: { ...memory, grants: { ...memory.grants, find } } });
  const call = { id: 'c2', name: h.fetchTitle, arguments: { url: 'https://example.com/' } };
  expect(await other.call(call)).toMatchObject({ status: 'awaiting_approval', executed: false });
  expect(h.mock.jobs).toBe(1);
});
