import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { rule as heard, type PolicyAnswer, type PolicyContext } from '../../../src/approval/policy.ts';
import { compileRules } from '../../../src/approval/rules/compile.ts';
import type { PolicyRule } from '../../../src/approval/rules/rule.ts';
import { type Clock, systemClock } from '../../../src/clock.ts';
import type { JsonObject } from '../../../src/skill/json.ts';
import { createManualClock } from '../../../src/testing/manual-clock.ts';
import { someContext } from '../../support/policy.ts';
import { someRun, someStep, someTime } from '../../support/step.ts';

type Effect = PolicyRule['effect'];
const rule = (id: string, effect: Effect, when = 'true', more: Partial<PolicyRule> = {}): PolicyRule => ({
  id,
  effect,
  when,
  reason: `Because of ${id}.`,
  ...more,
});

const withArgs = (args: JsonObject) => someStep({ run: { ...someRun, arguments: args } });

/** Whether an expression holds for a step, or is broken. */
async function holds(when: string, args: JsonObject = {}, context: Partial<PolicyContext> = {}) {
  const policy = await compileRules([rule('r', 'deny', when)]);
  const { matched, broken } = await policy.explain(withArgs(args), someContext(context));
  return broken.length > 0 ? 'broken' : matched.length > 0;
}

describe('an expression', () => {
  test.each<[string, JsonObject]>([
    ['skill.slug == "slugify-a-title" && skill.version == "1.0.0" && size(skill.hash) == 64', {}],
    ['skill.publisher.startsWith("usr_") && skill.verdict == "clean"', {}],
    ['skill.flags == 0 && skill.fails == 0', {}],
    ['tool.name == "slugify" && tool.wall_ms <= 10000 && tool.mem_bytes < 200000000', {}],
    ['net == "deny" && net in ["deny", "openvibe-only"]', {}],
    ['agent.id.startsWith("agt_") && agent.level == "auto" && !agent.alone', {}],
    ['person.startsWith("usr_") && project.startsWith("prj_")', {}],
    ['placement == "own" && !taint', {}],
    ['count.turn + count.session + count.pending == 0', {}],
    ['!has(args.path)', {}],
    ['has(args.path) && args.path.startsWith("/tmp/")', { path: '/tmp/a' }],
    ['args.url.matches("^https://[a-z]+[.]example/")', { url: 'https://www.example/a' }],
    ['args.text.contains("secret") || args.text.lowerAscii().endsWith("x")', { text: 'ABX' }],
    ['args.n == 3 && args.n > 2 && args.x == 1.5', { n: 3, x: 1.5 }],
    ['"a" in args.list && args.list.size() == 2 && args.list[0] == "a"', { list: ['a', 'b'] }],
    [
      'args.list.all(x, x.matches("^[ab]$")) && size(args.list.filter(x, x == "a")) == 1',
      { list: ['a', 'b'] },
    ],
    ['args.list.exists(x, x.deep.er == 1)', { list: [{ deep: { er: 2 } }, { deep: { er: 1 } }] }],
    ['args.a == args.b', { a: { x: [1, { y: null }] }, b: { x: [1, { y: null }] } }],
    ['args.a == null', { a: null }],
    ['args["a key"] == true', { 'a key': true }],
    ['(taint ? "a" : "b") == "b"', {}],
    ['string(args.n) == "3" && int(args.s) == 4 && double(args.s) == 4.0', { n: 3, s: '4' }],
    // CEL: what holds whatever the broken side says, holds.
    ['args.nothing == 1 || true', {}],
    // CEL: values of different types are not equal, which is no fault.
    ['args.s != 1', { s: '1' }],
  ])('holds: %s', async (when, args) => {
    expect(await holds(when, args)).toBe(true);
    expect(await holds(`!(${when})`, args)).toBe(false);
  });

  test.each<[string, JsonObject]>([
    ['args.path == "/"', {}],
    ['args.list[9] == 1', { list: [] }],
    ['args.n.startsWith("a")', { n: 1 }],
    ['args.list.all(x, x > 1)', { list: 'abc' }],
    ['1 / count.turn == 1', {}],
    ['args.big.matches("a")', { big: 'b'.repeat(5000) }],
    ['args.list.exists(x, x.a == 1)', { list: [1] }],
  ])('is broken, and never throws: %s', async (when, args) => {
    expect(await holds(when, args)).toBe('broken');
  });

  test('arguments that are longer than any call can have are not looked at', async () => {
    expect(await holds('true', { big: 'b'.repeat(70_000) })).toBe('broken');
  });

  test('C77: a key is a key, whatever its name, and nothing is looked up in a prototype', async () => {
    const names = ['constructor', 'toString', 'hasOwnProperty', 'valueOf', 'size', 'get', '__proto__'];
    for (const name of names) {
      expect(await holds(`has(args.x) && args.x == 1`, { [name]: 1, x: 1 })).toBe(true);
      if (name === '__proto__') continue;
      expect(await holds(`has(args.${name})`)).toBe(false);
      expect(await holds(`"${name}" in args`)).toBe(false);
      expect(await holds(`args["${name}"] == 1`)).toBe('broken');
      const own = Object.fromEntries([[name, 1]]);
      expect(await holds(`has(args.${name}) && args.${name} == 1`, own)).toBe(true);
      expect(await holds(`args.deep.${name} == 1`, { deep: own })).toBe(true);
      expect(await holds(`args.list.exists(x, has(x.${name}))`, { list: [{}] })).toBe(false);
    }
  });

  test('a hostile pattern and text take a moment', async () => {
    const begun = performance.now();
    const hostile = { text: `${'a'.repeat(4000)}!`, list: Array(5000).fill('aaaaaaaa') };
    expect(await holds('args.text.matches("^(a+)+$")', hostile)).toBe(false);
    expect(await holds('args.text.matches("^(a|aa)+$")', hostile)).toBe(false);
    expect(await holds('args.list.exists(x, x.matches("(a*)*b"))', hostile)).toBe(false);
    expect(performance.now() - begun).toBeLessThan(5000);
  });
});

describe('what stands', () => {
  const answerOf = async (rules: PolicyRule[]): Promise<PolicyAnswer> =>
    (await compileRules(rules))(withArgs({}), someContext());
  const broken = 'args.nothing == 1';

  test.each<[string, PolicyRule[], Effect, string | undefined]>([
    ['no rule', [], 'ask', undefined],
    ['no rule that speaks', [rule('d', 'deny', 'taint'), rule('l', 'allow', 'false')], 'ask', undefined],
    ['allow', [rule('l', 'allow'), rule('m', 'allow')], 'allow', 'l'],
    ['ask over allow', [rule('l', 'allow'), rule('a', 'ask')], 'ask', 'a'],
    ['deny over all', [rule('l', 'allow'), rule('a', 'ask'), rule('d', 'deny')], 'deny', 'd'],
    ['a broken deny refuses', [rule('l', 'allow'), rule('d', 'deny', broken)], 'deny', 'd'],
    ['a broken ask asks', [rule('l', 'allow'), rule('a', 'ask', broken)], 'ask', 'a'],
    ['a broken allow does not allow', [rule('l', 'allow', broken)], 'ask', undefined],
    ['a broken allow leaves another', [rule('l', 'allow', broken), rule('m', 'allow')], 'allow', 'm'],
  ])('%s', async (_, rules, effect, id) => {
    const answer = await answerOf(rules);
    expect([answer.effect, answer.rule]).toEqual([effect, id]);
  });

  test('whatever rules there are, none that is broken lets more through', async () => {
    const truth = { true: true, false: false, [broken]: undefined } as Record<string, boolean | undefined>;
    const some = fc.record({
      effect: fc.constantFrom<Effect>('allow', 'ask', 'deny'),
      when: fc.constantFrom(...Object.keys(truth)),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(some, { maxLength: 6 }), async (given) => {
        const answer = await answerOf(given.map(({ effect, when }, at) => rule(`r${at}`, effect, when)));
        const isThere = (effect: Effect, among: (held: boolean | undefined) => boolean): boolean =>
          given.some((one) => one.effect === effect && among(truth[one.when]));
        const wanted = isThere('deny', (held) => held !== false)
          ? 'deny'
          : isThere('ask', (held) => held !== false) || !isThere('allow', (held) => held === true)
            ? 'ask'
            : 'allow';
        expect(answer.effect).toBe(wanted);
      }),
    );
  });

  test('whatever the arguments are, rules answer, and say nothing of them', async () => {
    const whens = [
      'args.a == 1',
      'args.a.startsWith("a")',
      'args.b.all(x, x.c > 1)',
      '"a" in args.a',
      'args.a[0] == args.b',
    ];
    const policy = await compileRules(whens.map((when, at) => rule(`r${at}`, 'deny', when)));
    const secret = 'SECRET-5f1c';
    const value = fc.oneof(fc.constant(secret), fc.jsonValue({ maxDepth: 3 })) as fc.Arbitrary<JsonObject>;
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), value), async (args) => {
        const said = await policy.explain(withArgs(args), someContext());
        expect(JSON.stringify(said)).not.toContain(secret);
        expect(said.answer.effect).toBe(said.matched.length + said.broken.length > 0 ? 'deny' : 'ask');
      }),
    );
  });

  test('a rule that speaks with allowAlways false forbids it, whichever stands', async () => {
    const never = { allowAlways: false };
    expect(await answerOf([rule('a', 'ask', 'true', never)])).toMatchObject({ allowAlways: false });
    expect(await answerOf([rule('a', 'ask'), rule('b', 'ask', 'true', never)])).toMatchObject({
      rule: 'a',
      allowAlways: false,
    });
    expect(await answerOf([rule('a', 'ask', broken, never)])).toMatchObject({ allowAlways: false });
    expect(await answerOf([rule('l', 'allow', 'true', never)])).toMatchObject({ allowAlways: false });
    expect(await answerOf([rule('a', 'ask'), rule('b', 'ask', 'taint', never)])).toMatchObject({
      allowAlways: true,
    });
  });

  test('from its time on there is no such rule, whatever its effect', async () => {
    const clock = createManualClock(someTime);
    const expires = new Date(someTime + 1000).toISOString();
    const policy = await compileRules(
      [
        rule('d', 'deny', 'true', { expires }),
        rule('a', 'ask', 'true', { expires: '1990-12-31T23:59:60z' }),
        rule('l', 'allow'),
      ],
      { clock },
    );
    const said = () => policy.explain(withArgs({}), someContext());
    expect(await said()).toMatchObject({ answer: { effect: 'deny' }, expired: ['a'], matched: ['d', 'l'] });
    await clock.advance(999);
    expect((await said()).answer.effect).toBe('deny');
    await clock.advance(1);
    expect(await said()).toMatchObject({ answer: { effect: 'allow', rule: 'l' }, expired: ['d', 'a'] });
  });

  test('a dry run says which rules spoke, which broke and what stands', async () => {
    const policy = await compileRules([
      rule('a', 'ask', 'net == "deny"'),
      rule('d', 'deny', 'args.secret > 1'),
      rule('l', 'allow', 'taint'),
    ]);
    expect(await policy.explain(withArgs({ secret: 'SECRET-5f1c' }), someContext())).toEqual({
      answer: {
        effect: 'deny',
        rule: 'd',
        reason: 'Because of d. (The rule could not be evaluated, so it is held to.)',
      },
      matched: ['a'],
      broken: ['d'],
      expired: [],
    });
  });

  describe('takes no longer than it says, and then gives no answer', () => {
    /** A clock that is `ms` later each time it is looked at. */
    const passing = (ms: number): Clock => {
      let now = someTime;
      const step = (): number => {
        now += ms;
        return now;
      };
      return { ...systemClock, now: step };
    };
    const allow = rule('ok', 'allow');
    const always = Array.from({ length: 199 }, (_, at) => rule(`r${at}`, 'ask', 'net == "public"'));
    const matches = Array.from({ length: 40 }, () => 'args.text.matches("^b")').join(' || ');
    const text = { text: 'a' };
    const list = { list: Array.from({ length: 3000 }, () => 'a') };

    test.each<[string, number, PolicyRule[], JsonObject]>([
      ['many rules', 20, [...always, allow], {}],
      ['many matches', 100, [rule('m', 'deny', matches), allow], text],
      ['a long list', 1, [rule('l', 'deny', 'args.list.exists(x, x == "b")'), allow], list],
      ['each of a long list', 1, [rule('l', 'deny', '!args.list.all(x, x == "a")'), allow], list],
      ['one of a long list', 1, [rule('l', 'deny', 'args.list.exists_one(x, x == "b")'), allow], list],
      [
        'a part of a long list',
        1,
        [rule('l', 'deny', 'size(args.list.filter(x, x == "b")) > 0'), allow],
        list,
      ],
      // What is late in the last rule, and passed over by it, is late all the same.
      ['a match in the last rule', 100, [allow, rule('m', 'deny', `${matches} || net == "x"`)], text],
    ])('%s', async (_, ms, rules, args) => {
      const step = withArgs(args);
      const inTime = await compileRules(rules, { clock: passing(0) });
      expect(await inTime(step, someContext())).toMatchObject({ effect: 'allow' });
      const late = await compileRules(rules, { clock: passing(ms) });
      const error = { code: 'policy_invalid', message: expect.stringContaining('took more than 2000 ms') };
      await expect(late.explain(step, someContext())).rejects.toMatchObject(error);
      expect(await heard(step, someContext(), late)).toMatchObject({
        effect: 'refuse',
        rule: 'policy-failed',
      });
    });

    test('a step that is late spoils no later one', async () => {
      let ms = 1;
      let now = someTime;
      const step = (): number => {
        now += ms;
        return now;
      };
      const rules = [rule('l', 'deny', 'args.list.exists(x, x.matches("b"))'), allow];
      const policy = await compileRules(rules, { clock: { ...systemClock, now: step } });
      await expect(policy(withArgs(list), someContext())).rejects.toThrow();
      ms = 0;
      expect(await policy(withArgs(list), someContext())).toMatchObject({ effect: 'allow' });
    });

    test.each<[string, string, JsonObject]>([
      ['match', matches, text],
      ['step of a loop', 'args.list.exists(x, x == "b")', { list: list.list.slice(0, 40) }],
    ])('each %s looks at the clock, and none after the last', async (_, when, args) => {
      const clock = passing(100);
      const now = vi.spyOn(clock, 'now');
      const policy = await compileRules([rule('r', 'deny', when), allow], { clock });
      await expect(policy(withArgs(args), someContext())).rejects.toThrow('took more than 2000 ms');
      // One for what is over, one to begin, and twenty of the two seconds.
      expect(now).toHaveBeenCalledTimes(22);
    });
  });

  test('nothing of the arguments comes out of a rule that breaks', async () => {
    const secret = 'SECRET-5f1c';
    const breaking = [
      'args.a.b == 1',
      'args.a > 1',
      'int(args.a) == 1',
      'args.list.all(x, x > 1)',
      'args[args.a] == 1',
    ];
    for (const effect of ['deny', 'ask', 'allow'] as const) {
      const policy = await compileRules(breaking.map((when, at) => rule(`r${at}`, effect, when)));
      const said = await policy.explain(withArgs({ a: secret, list: [secret] }), someContext());
      expect(said.broken).toHaveLength(breaking.length);
      expect(JSON.stringify(said)).not.toContain(secret);
    }
  });

  test('where it would run is looked at only for a rule that asks, and once', async () => {
    let looks = 0;
    const placement = async () => {
      looks += 1;
      return 'pool' as const;
    };
    const without = await compileRules([rule('d', 'deny', 'taint')]);
    await without(withArgs({}), someContext({ placement }));
    expect(looks).toBe(0);
    const over = { expires: '2000-01-01T00:00:00Z' };
    const expired = await compileRules([rule('d', 'deny', 'placement == "pool"', over)]);
    await expired(withArgs({}), someContext({ placement }));
    expect(looks).toBe(0);
    const asking = await compileRules([
      rule('d', 'deny', 'placement == "pool"'),
      rule('a', 'ask', 'placement == "own"'),
    ]);
    expect(await asking(withArgs({}), someContext({ placement }))).toMatchObject({ rule: 'd' });
    expect(looks).toBe(1);
  });
});
