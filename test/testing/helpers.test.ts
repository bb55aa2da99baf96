import { describe, expect, test } from 'vitest';
import { sha256 } from '../../src/skill/sha256.ts';
import { verifySkill } from '../../src/skill/verify.ts';
import { createManualClock } from '../../src/testing/manual-clock.ts';
import { createScriptedModel } from '../../src/testing/scripted-model.ts';
import { readySkills } from '../../src/testing/skills.ts';

describe('the ready skills', () => {
  test.each(Object.entries(readySkills))(
    '%s: its listing pins exactly its bytes, and it verifies',
    async (_n, skill) => {
      for (const [at, pin] of skill.listing.code.entries()) {
        expect(pin.name).toBe(skill.document.resources[at]?.path);
        expect(pin.sha256).toBe(await sha256(skill.document.resources[at]?.text ?? ''));
      }
      expect(skill.listing.integrity).toEqual(skill.document.integrity);
      expect(await verifySkill(skill)).toMatchObject({ ok: true });
      expect(Object.isFrozen(skill.document.tools[0]?.args)).toBe(true);
    },
  );

  test('the flagged one needs its acknowledgement', async () => {
    const { document, listing } = readySkills.fetchTitle;
    expect(await verifySkill({ document, listing })).toMatchObject({
      ok: false,
      problem: { reason: 'scan_unread' },
    });
  });
});

describe('the scripted model', () => {
  test('says its turns in order, keeps what it was given, and throws when asked once too often', () => {
    const calls = [{ id: 'c1', name: 'slugify', arguments: '{"title":"a"}' }];
    const model = createScriptedModel([calls, 'done']);
    const messages = [{ role: 'user', content: 'go' }];
    expect(model.next(messages)).toEqual(calls);
    expect(() => model.done()).toThrow('1 were asked for');
    messages.push({ role: 'tool', content: 'x' });
    expect(model.next(messages)).toBe('done');
    model.done();
    expect(model.seen.map((seen) => seen.length)).toEqual([1, 2]);
    expect(() => model.next(messages)).toThrow('asked for one more');
  });
});

describe('the manual clock', () => {
  test('wakes sleepers in the order of their times, also those that fall asleep on the way', async () => {
    const clock = createManualClock(0);
    const woken: [string, number][] = [];
    const sleep = async (name: string, ms: number): Promise<void> => {
      await clock.sleep(ms);
      woken.push([name, clock.now()]);
    };
    void sleep('late', 100);
    void sleep('first', 10).then(() => sleep('again', 20));
    void sleep('same', 100);
    await clock.advance(99);
    expect([woken, clock.now(), clock.sleepers]).toEqual([
      [
        ['first', 10],
        ['again', 30],
      ],
      99,
      2,
    ]);
    await clock.advance(1);
    expect(woken.slice(2)).toEqual([
      ['late', 100],
      ['same', 100],
    ]);
  });

  test('an abort rejects the sleep and leaves no sleeper', async () => {
    const clock = createManualClock();
    const stop = new AbortController();
    const sleeping = clock.sleep(10, stop.signal);
    await clock.whenSleeping();
    stop.abort();
    await expect(sleeping).rejects.toMatchObject({ code: 'aborted' });
    await expect(clock.sleep(10, stop.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(clock.sleepers).toBe(0);
  });
});
