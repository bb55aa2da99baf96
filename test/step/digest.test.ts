import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { menuName } from '../../src/menu/names.ts';
import type { JsonObject } from '../../src/skill/json.ts';
import { digestOf, replayKeyOf, targetOf } from '../../src/step/digest.ts';
import type { StepOwner, StepRun } from '../../src/step/record.ts';
import { type GrantScope, grantKeyOf } from '../../src/store/grant.ts';
import { ben } from '../support/harness.ts';
import { someOwner, someRun } from '../support/step.ts';

const digestWith = (args: JsonObject) => digestOf(someOwner, { ...someRun, arguments: args });

describe('the digest of a step', () => {
  test('C12: the order of keys does not matter, and no default is filled in', async () => {
    const one = await digestWith({ shorten: false, title: 'a' });
    expect(one).toMatch(/^[0-9a-f]{64}$/);
    expect(await digestWith({ title: 'a', shorten: false })).toBe(one);
    expect(await digestWith({ title: 'a' })).not.toBe(one);
    expect(await digestWith({ id: '7' })).not.toBe(await digestWith({ id: 7 }));
    expect(await digestWith({ list: [1, 2] })).not.toBe(await digestWith({ list: [2, 1] }));
  });

  test('C13: what is only shown is not in it', async () => {
    const shown = {
      label: 'ein anderer Text',
      locale: 'de',
      target: 'other',
      why: 'other',
      canAlways: false,
    };
    const run = { ...someRun, ...shown } as StepRun;
    const owner = { ...someOwner, ...shown } as StepOwner;
    expect(await digestOf(owner, run)).toBe(await digestOf(someOwner, someRun));
  });

  const [pin] = someRun.pins;
  const runs: [string, Partial<StepRun>][] = [
    ['slug', { slug: 'slugify-a-title-2' }],
    ['version', { version: '1.0.1' }],
    ['hash', { hash: 'd'.repeat(64) }],
    ['tool', { tool: 'slugify2' }],
    ['entry', { entry: 'other.js' }],
    ['arguments', { arguments: { title: 'b', shorten: false } }],
    ['net', { net: 'public' }],
    ['wall_ms', { limits: { ...someRun.limits, wall_ms: 10_001 } }],
    ['mem_bytes', { limits: { ...someRun.limits, mem_bytes: 1 } }],
    ['no pins', { pins: [] }],
    ['two pins', { pins: pin ? [pin, { ...pin, name: 'other.js' }] : [] }],
    ['a pin’s name', { pins: pin ? [{ ...pin, name: 'other.js' }] : [] }],
    ['a pin’s media', { pins: pin ? [{ ...pin, mediaId: 'med_01JAB2C3D4E5F6G7H8J9K0MN02' }] : [] }],
    ['a pin’s sha256', { pins: pin ? [{ ...pin, sha256: 'e'.repeat(64) }] : [] }],
    ['a pin’s size', { pins: pin ? [{ ...pin, size: 11 }] : [] }],
  ];
  test.each(runs)('C13: another %s is another digest', async (_, change) => {
    expect(await digestOf(someOwner, { ...someRun, ...change })).not.toBe(await digestOf(someOwner, someRun));
  });

  test.each<[string, Partial<StepOwner>]>([
    ['person', { subject: ben.subject }],
    ['project', { project: ben.project }],
    ['agent', { agent: 'agt_01JBBBBBBBBBBBBBBBBBBBBBBB' }],
    ['missing agent', { agent: null }],
  ])('C13: another %s is another digest', async (_, change) => {
    expect(await digestOf({ ...someOwner, ...change }, someRun)).not.toBe(await digestOf(someOwner, someRun));
  });
});

// Everything that somebody once joined fields with, and little else, so that boundaries meet often.
const nasty = fc
  .array(fc.constantFrom('\0', '\n', '|', '@', ' ', ' · ', 'a', 'b', '"', '\\', ',', '\ud800'), {
    maxLength: 4,
  })
  .map((parts) => parts.join(''));

/** Two tuples of nasty strings; the second is often the first with a boundary moved. */
const pairs = (length: number) =>
  fc
    .tuple(fc.array(nasty, { minLength: length, maxLength: length }), fc.nat(), fc.nat())
    .chain(([tuple, at, by]) => {
      const first = at % (length - 1);
      const joined = `${tuple[first]}${tuple[first + 1]}`;
      const cut = by % (joined.length + 1);
      const moved = tuple.with(first, joined.slice(0, cut)).with(first + 1, joined.slice(cut));
      const other = fc.array(nasty, { minLength: length, maxLength: length });
      return fc.tuple(fc.constant(tuple), fc.oneof(fc.constant(moved), other));
    });

const same = (a: readonly string[], b: readonly string[]): boolean => JSON.stringify(a) === JSON.stringify(b);

describe('C15: fields cannot run into each other', () => {
  const keys: [string, number, (tuple: readonly string[]) => Promise<string>][] = [
    [
      'digest',
      8,
      ([subject, project, agent, slug, version, hash, tool, entry]) =>
        digestOf(
          { subject, project, agent } as StepOwner,
          { ...someRun, slug, version, hash, tool, entry } as StepRun,
        ),
    ],
    [
      'digest of arguments',
      3,
      ([tool, key, value]) =>
        digestOf(someOwner, { ...someRun, tool: tool ?? '', arguments: { [key ?? '']: value ?? '' } }),
    ],
    [
      'replay key',
      4,
      ([session, turn, call, digest]) => replayKeyOf(session ?? '', turn ?? '', call ?? '', digest ?? ''),
    ],
    [
      'grant key',
      8,
      ([subject, project, agent, slug, version, hash, tool, net]) =>
        grantKeyOf({ subject, project, agent, slug, version, hash, tool, net } as GrantScope),
    ],
    ['menu name', 3, ([slug, version, tool]) => menuName(slug ?? '', version ?? '', tool ?? '')],
  ];
  test.each(keys)('different tuples never share a %s', async (_, length, keyOf) => {
    await fc.assert(
      fc.asyncProperty(pairs(length), async ([one, two]) => {
        expect((await keyOf(one)) === (await keyOf(two))).toBe(same(one, two));
      }),
      { numRuns: 300 },
    );
  });

  test('a missing agent is not an agent of some name', async () => {
    const scope = { ...someOwner, ...someRun, agent: null };
    const named = ['null', '', 'undefined'].map((agent) => grantKeyOf({ ...scope, agent }));
    expect(await Promise.all(named)).not.toContain(await grantKeyOf(scope));
  });

  test('the target names the network exactly when it is the internet', () => {
    expect(targetOf(someRun)).toBe('slugify-a-title@1.0.0 slugify');
    expect(targetOf({ ...someRun, net: 'openvibe-only' })).toBe('slugify-a-title@1.0.0 slugify');
    expect(targetOf({ ...someRun, net: 'public' })).toBe('slugify-a-title@1.0.0 slugify · internet');
  });
});
