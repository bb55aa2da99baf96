import { describe, expect, test } from 'vitest';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import type { RegistryPort } from '../../src/gateway/registry-port.ts';
import { type SkillSet, verifySkills } from '../../src/menu/skill-set.ts';
import type { SkillListing } from '../../src/skill/listing.ts';
import { acknowledgementOf } from '../../src/skill/listing.ts';
import type { InstalledSkill } from '../../src/skill/verify.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { agentId, ann, approve, type Harness, harness, passing, until } from '../support/harness.ts';
import { makeSkill, seedSkills } from '../support/skills.ts';

const day = 86_400_000;
const callOf = (h: Harness, id: string) => ({ id, name: h.slugify, arguments: { title: id } });
const fetchOf = (h: Harness, id: string) => ({
  id,
  name: h.fetchTitle,
  arguments: { url: 'https://a.example' },
});

/** What is installed, verified when the clocks of the tests begin. */
const installed = (skills: readonly InstalledSkill[]): Promise<SkillSet> =>
  verifySkills(skills, { clock: createManualClock() });

interface Registry extends RegistryPort {
  asked: number;
  /** What it says of a version, given what it said when that was installed. */
  say: (listing: SkillListing) => unknown;
}

async function registryOf(skills: readonly InstalledSkill[]): Promise<Registry> {
  const listings = skills.map(({ listing }) => listing as SkillListing);
  const registry: Registry = {
    asked: 0,
    say: (listing) => listing,
    async listing(slug, version) {
      registry.asked += 1;
      const listing = listings.find((one) => one.slug === slug && one.version === version);
      return registry.say(listing as SkillListing);
    },
  };
  return registry;
}

async function over(change: Partial<GatewayOptions> = {}): Promise<{ h: Harness; registry: Registry }> {
  const seeds = await seedSkills();
  const registry = await registryOf(seeds);
  const gateway = { skills: await installed(seeds), registry, approver: approve, ...change };
  return { h: await harness({ gateway }), registry };
}

const finding = { rule: 'net-hint', severity: 'flag', message: 'Reads like a host.' } as const;
const scan = (verdict: string, ...findings: unknown[]) => ({ scan: { verdict, findings } });

describe('the listing is asked for again before a submit', () => {
  test('when it is older than listingMaxAgeMs, and no sooner', async () => {
    const { h, registry } = await over();
    await h.gateway.call(callOf(h, 'c1'));
    await h.clock.advance(300_000);
    await h.gateway.call(callOf(h, 'c2'));
    expect(registry.asked).toBe(0);
    await h.clock.advance(1);
    for (const id of ['c3', 'c4']) expect((await h.gateway.call(callOf(h, id))).status).toBe('completed');
    expect(registry.asked).toBe(1);
    await h.clock.advance(300_001);
    await h.other({ listingMaxAgeMs: 600_000 }).call(callOf(h, 'c5'));
    expect(registry.asked).toBe(1);
    await h.gateway.call(callOf(h, 'c6'));
    expect(registry.asked).toBe(2);
  });

  test('also where the clock was set back since: a time to come is no time it was seen', async () => {
    const seeds = await seedSkills();
    const skills = await verifySkills(seeds, { clock: createManualClock(Date.UTC(2030, 0)) });
    const { h, registry } = await over({ skills });
    registry.say = (listing) => ({ ...listing, status: 'retired' });
    expect((await h.gateway.call(callOf(h, 'c1'))).status).toBe('skill_unavailable');
    expect(registry.asked).toBe(1);
  });

  test.each<[string, string, (listing: SkillListing) => unknown]>([
    ['retired', 'retired', (one) => ({ ...one, status: 'retired' })],
    ['failed', 'scan_failed', (one) => ({ ...one, ...scan('failed') })],
    [
      'failed by a finding alone',
      'scan_failed',
      (one) => ({ ...one, ...scan('clean', { ...finding, severity: 'fail' }) }),
    ],
    ['flagged, which nobody acknowledged', 'scan_unread', (one) => ({ ...one, ...scan('flagged', finding) })],
    [
      'of other bytes',
      'listing_mismatch',
      (one) => ({ ...one, integrity: { alg: 'sha256', hash: 'a'.repeat(64) } }),
    ],
    [
      'pinned to other bytes',
      'listing_mismatch',
      (one) => ({
        ...one,
        code: [{ name: 'slugify.js', media_id: 'med_01JAB2C3D4E5F6G7H8J9K0MN01', sha256: 'a'.repeat(64) }],
      }),
    ],
    [
      'pinned to another medium of the same bytes',
      'listing_mismatch',
      (one) => ({
        ...one,
        code:
          'code' in one
            ? one.code?.map((pin) => ({ ...pin, media_id: 'med_01JZZZZZZZZZZZZZZZZZZZZZZZ' }))
            : [],
      }),
    ],
    ['without pins', 'listing_mismatch', (one) => ({ ...one, code: [] })],
    ['of another skill', 'listing_mismatch', (one) => ({ ...one, slug: 'another' })],
    ['none: undefined', 'invalid_listing', () => undefined],
    ['none: null', 'invalid_listing', () => null],
    ['a page of HTML', 'invalid_listing', () => '<html>'],
    ['of a newer form', 'invalid_listing', (one) => ({ ...one, listing: 'actor.skill-listing@9' })],
    ['with a field nobody knows', 'invalid_listing', (one) => ({ ...one, trusted: true })],
    ['with a key twice', 'invalid_listing', (one) => JSON.stringify(one).replace('{', '{"status":"listed",')],
    [
      'one that throws when it is read',
      'invalid_listing',
      () =>
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('no');
            },
          },
        ),
    ],
  ])('C106: one that is %s stops the step', async (_, code, say) => {
    const { h, registry } = await over();
    await h.clock.advance(300_001);
    registry.say = say;
    const outcome = await h.gateway.call(callOf(h, 'c1'));
    expect(outcome).toMatchObject({ status: 'skill_unavailable', executed: false, code });
    expect(outcome.message).toMatch(/Nothing ran\.$/);
    expect([registry.asked, h.mock.jobs]).toEqual([1, 0]);
    // And once it is as it was, the skill runs again.
    registry.say = (listing) => JSON.stringify(listing);
    await h.clock.advance(300_001);
    expect((await h.gateway.call(callOf(h, 'c2'))).status).toBe('completed');
  });

  test('a flagged skill goes on with exactly the findings that were acknowledged', async () => {
    const flagged = await makeSkill({ listing: scan('flagged', finding) });
    const acknowledged = await acknowledgementOf(flagged.listing);
    const seeds = [{ ...flagged, acknowledged }];
    const registry = await registryOf(seeds as never);
    const { h } = await over({ skills: await installed(seeds), registry });
    await h.clock.advance(300_001);
    expect((await h.gateway.call(callOf(h, 'c1'))).status).toBe('completed');
    registry.say = (listing) => ({
      ...listing,
      ...scan('flagged', finding, { ...finding, rule: 'another' }),
    });
    await h.clock.advance(300_001);
    expect(await h.gateway.call(callOf(h, 'c2'))).toMatchObject({
      status: 'skill_unavailable',
      code: 'scan_unread',
    });
    registry.say = (listing) => ({ ...listing, ...scan('clean') });
    await h.clock.advance(300_001);
    expect((await h.gateway.call(callOf(h, 'c3'))).status).toBe('completed');
  });

  test('C58: one that is retired between the approval and the submit does not run', async () => {
    const { h, registry } = await over({ approver: undefined as never });
    const { step } = await h.gateway.call(callOf(h, 'c1'));
    await h.gateway.approvals.approve(step?.id ?? '', { by: ann.subject });
    await h.clock.advance(300_001);
    registry.say = (listing) => ({ ...listing, status: 'retired' });
    expect(await h.gateway.resume(step?.id ?? '')).toMatchObject({
      status: 'skill_unavailable',
      code: 'retired',
    });
    expect(h.mock.jobs).toBe(0);
  });

  test('a set that was verified since is believed over what the registry said before it', async () => {
    const { h, registry } = await over();
    await h.clock.advance(300_001);
    registry.say = (listing) => ({ ...listing, status: 'retired' });
    expect((await h.gateway.call(callOf(h, 'c1'))).status).toBe('skill_unavailable');
    await h.clock.advance(1000);
    const skills = await verifySkills(await seedSkills(), { clock: h.clock });
    expect((await h.other({ skills }).call(callOf(h, 'c2'))).status).toBe('completed');
    expect((await h.gateway.call(callOf(h, 'c3'))).status).toBe('skill_unavailable');
  });
});

test('any number of gateways over one registry ask it once in listingMaxAgeMs', async () => {
  const seeds = await seedSkills();
  const registry = await registryOf(seeds);
  // Retired, so that 2000 calls make no job.
  registry.say = (listing) => ({ ...listing, status: 'retired' });
  const auto = {
    agent: { id: agentId, level: 'auto' },
    policy: () => ({ effect: 'allow' as const }),
  } as const;
  const h = await harness({ gateway: { skills: await installed(seeds), registry, ...auto } });
  for (const times of [1, 2]) {
    await h.clock.advance(300_001);
    const calls = Array.from({ length: 1000 }, (_, n) =>
      h.other({ session: `s${n}` }).call(callOf(h, `c${times}`)),
    );
    const statuses = new Set((await Promise.all(calls)).map(({ status }) => status));
    expect([...statuses]).toEqual(['skill_unavailable']);
    expect(registry.asked).toBe(times);
  }
  // Another registry is another answer.
  const other = await registryOf(seeds);
  expect((await h.other({ registry: other }).call(callOf(h, 'c3'))).status).toBe('completed');
  expect([registry.asked, other.asked]).toEqual([2, 1]);
});

describe('a registry that does not answer', () => {
  const failures: [string, () => unknown][] = [
    ['rejects', () => Promise.reject(new Error('503'))],
    [
      'throws',
      () => {
        throw new Error('503');
      },
    ],
    ['hangs', () => new Promise(() => {})],
  ];
  const down = { status: 'skill_unavailable', executed: false, code: 'registry-down' };

  test.each(failures)('%s: tools without network go on for a day, the others stop', async (_, say) => {
    const { h, registry } = await over();
    registry.say = say;
    await h.clock.advance(day - 60_000);
    expect((await passing(h.clock, h.gateway.call(callOf(h, 'c1')))).status).toBe('completed');
    expect(await passing(h.clock, h.gateway.call(fetchOf(h, 'c2')))).toMatchObject(down);
    expect(h.told).toContain('fault');
    await h.clock.advance(60_001);
    expect(await passing(h.clock, h.gateway.call(callOf(h, 'c3')))).toMatchObject(down);
    registry.say = (listing) => listing;
    await h.clock.advance(10_001);
    for (const call of [callOf(h, 'c4'), fetchOf(h, 'c5')]) {
      expect((await passing(h.clock, h.gateway.call(call))).status).toBe('completed');
    }
    // The day counts from the last time it answered.
    registry.say = say;
    await h.clock.advance(day - 60_000);
    expect((await passing(h.clock, h.gateway.call(callOf(h, 'c6')))).status).toBe('completed');
  });

  test.each(failures)('%s: by the host’s word all stop', async (_, say) => {
    const { h, registry } = await over({ registryDown: 'refuse' });
    registry.say = say;
    expect((await h.gateway.call(callOf(h, 'c1'))).status).toBe('completed');
    await h.clock.advance(300_001);
    expect(await passing(h.clock, h.gateway.call(callOf(h, 'c2')))).toMatchObject(down);
    expect(h.mock.jobs).toBe(1);
  });

  test('is waited for 10 seconds, by all at once, and not asked again for 10 more', async () => {
    const { h, registry } = await over();
    registry.say = () => new Promise(() => {});
    await h.clock.advance(300_001);
    let ended = 0;
    const calls = Array.from({ length: 20 }, (_, n) =>
      h
        .other()
        .call(fetchOf(h, `c${n}`))
        .finally(() => {
          ended += 1;
        }),
    );
    await until(() => registry.asked === 1);
    await h.clock.advance(9999);
    expect(ended).toBe(0);
    await h.clock.advance(1);
    for (const outcome of await Promise.all(calls)) expect(outcome).toMatchObject(down);
    expect(await h.gateway.call(fetchOf(h, 'c20'))).toMatchObject(down);
    expect(registry.asked).toBe(1);
  });

  test('after it said "retired" the skill stays stopped', async () => {
    const { h, registry } = await over();
    await h.clock.advance(300_001);
    registry.say = (listing) => ({ ...listing, status: 'retired' });
    await h.gateway.call(callOf(h, 'c1'));
    registry.say = () => Promise.reject(new Error('503'));
    await h.clock.advance(300_001);
    expect(await h.gateway.call(callOf(h, 'c2'))).toMatchObject({
      status: 'skill_unavailable',
      code: 'retired',
    });
  });

  test('keeps no gateway from closing, and the step can be resumed', async () => {
    const store = createMemoryStore();
    const { h, registry } = await over({ store });
    registry.say = () => new Promise(() => {});
    await h.clock.advance(300_001);
    const call = h.gateway.call(callOf(h, 'c1'));
    await until(() => registry.asked === 1);
    await h.gateway.close();
    const outcome = await call;
    expect(outcome).toMatchObject({ status: 'outcome_unknown', code: 'closed' });
    const fresh = await registryOf(await seedSkills());
    await h.clock.advance(31_000);
    const resumed = h.other({ registry: fresh }).resume(outcome.step?.id ?? '');
    expect((await passing(h.clock, resumed)).status).toBe('completed');
  });

  test('a submit that was never answered waits for it, and is not sent again once it says "retired"', async () => {
    const { h, registry } = await over({ store: createMemoryStore() });
    h.mock.fault({ on: 'submit', kind: 'drop-before', times: 4 });
    const lost = await passing(h.clock, h.gateway.call(callOf(h, 'c1')));
    expect(lost.status).toBe('outcome_unknown');
    registry.say = () => Promise.reject(new Error('503'));
    await h.clock.advance(300_001);
    const id = lost.step?.id ?? '';
    const refusing = h.other({ registryDown: 'refuse' });
    expect(await passing(h.clock, refusing.resume(id))).toMatchObject({
      status: 'outcome_unknown',
      code: 'registry-down',
    });
    registry.say = (listing) => ({ ...listing, status: 'retired' });
    await h.clock.advance(31_000);
    expect(await passing(h.clock, refusing.resume(id))).toMatchObject({
      status: 'outcome_unknown',
      code: 'not-sent-again',
    });
    expect(h.mock.jobs).toBe(0);
  });

  test('C48: an approval that runs out while it is waited for is not used', async () => {
    const { h, registry } = await over({ approver: undefined as never });
    const { step } = await h.gateway.call(callOf(h, 'c1'));
    await h.gateway.approvals.approve(step?.id ?? '', { by: ann.subject });
    registry.say = () => new Promise(() => {});
    await h.clock.advance(895_000);
    expect((await passing(h.clock, h.gateway.resume(step?.id ?? ''))).status).toBe('expired');
  });
});

test.each<[string, unknown, string]>([
  ['a registry that is none', { registry: {} }, 'registry'],
  ['null', { registry: null }, 'registry'],
  ['another word', { registryDown: 'go-on' }, 'registryDown'],
  ['an age below 0', { listingMaxAgeMs: -1 }, 'listingMaxAgeMs'],
  ['an age above a day', { listingMaxAgeMs: day + 1 }, 'listingMaxAgeMs'],
])('%s is option_invalid', async (_, change, name) => {
  const { h } = await over();
  expect(() => h.other(change as object)).toThrow(
    expect.objectContaining({ code: 'option_invalid', message: expect.stringMatching(`^${name}: `) }),
  );
});
