import { expect, test } from 'vitest';
import { compileRules } from '../../../src/approval/rules/compile.ts';
import type { PolicyRule } from '../../../src/approval/rules/rule.ts';
import { isSkillRunError } from '../../../src/errors.ts';

const rule = (change: object = {}): PolicyRule => ({
  id: 'r',
  effect: 'deny',
  when: 'true',
  reason: 'So it is.',
  ...change,
});

async function faultOf(rules: unknown): Promise<string> {
  try {
    await compileRules(rules as PolicyRule[]);
  } catch (error) {
    expect(isSkillRunError(error, 'policy_invalid')).toBe(true);
    return (error as Error).message;
  }
  return 'it was loaded';
}

test.each<[string, unknown, string]>([
  ['no list', {}, 'rules: must be a list'],
  ['too many', Array(201).fill(rule()), 'must be a list of at most 200'],
  ['no rule', [null], "The policy's rule at 0: is invalid: Must be present and of type object"],
  ['an unknown key', [rule({ unless: 'x' })], 'rule "r": is invalid at /unless: '],
  ['an effect that is none', [rule({ effect: 'Deny' })], 'rule "r": is invalid at /effect: Must be one of'],
  ['no expression', [rule({ when: undefined })], 'at /when'],
  ['an expression as a value', [rule({ when: true })], 'at /when'],
  ['an expression that is too long', [rule({ when: `'${'a'.repeat(2000)}' == ''` })], 'at /when'],
  ['no reason', [rule({ reason: '' })], 'at /reason'],
  ['an id with a line in it', [rule({ id: 'a\nb' })], 'rule "a\\u{a}b": is invalid at /id'],
  ['a time that is none', [rule({ expires: '2026-02-30T00:00:00Z' })], 'at /expires'],
  ['allowAlways of a deny', [rule({ allowAlways: true })], 'has allowAlways, which says nothing'],
  ['two of one id', [rule(), rule({ effect: 'ask' })], 'rule "r": has the id of another rule'],
])('a rule is refused at the load: %s', async (_, rules, message) => {
  expect(await faultOf(rules)).toContain(message);
});

test.each<[string, string]>([
  // Not an expression.
  ['net ==', 'at character 7 cannot be read: Unexpected token'],
  ['net == "deny', 'at character 8 cannot be read: Unterminated string'],
  ['net == `deny`', 'cannot be read: Unexpected character'],
  // Names and types.
  ['tiant', 'at character 1 uses the unknown variable "tiant"; there are skill, tool, net, args'],
  [
    'taint && skill.name == "x"',
    'at character 10 uses the unknown variable "skill.name"; there are skill.slug',
  ],
  ['skill.constructor == ""', 'unknown variable "skill.constructor"'],
  ['has(skill.toString)', 'unknown variable "skill.toString"'],
  ['constructor == ""', 'unknown variable "constructor"'],
  ['skill["slug"] == "x"', 'names "skill", of which only a field can be used'],
  ['type(net) == string', 'unknown function "type"'],
  ['net == 3', 'no such overload: string == int'],
  ['count.turn == "3"', 'no such overload: int == string'],
  ['count.turn', 'gives a value of the type int, and has to give a bool'],
  ['args.flag', 'gives a value of the type dyn, and has to give a bool'],
  ['net.startsWith(3)', 'found no matching overload'],
  // What is not linear, or not needed.
  ['args.a.all(x, args.b.all(y, x == y))', 'names args in a loop'],
  ['args.a.all(x, x.all(y, y == 1))', 'has a loop in a loop'],
  ['args.a.exists(x, args.b.contains("c"))', 'names args in a loop, which is to look at "x" alone'],
  ['args.a.contains(args.b)', 'looks with contains for a text of the arguments'],
  ['args.a.exists(x, x.a.contains(x.b))', 'looks with contains for a text of the arguments'],
  ['args.a.exists(args, args == 1)', 'gives the element of a loop no name of its own'],
  ['args.a.map(x, x + x).size() > 0', 'unknown method "map"'],
  ['cel.bind(x, args.a, x == x)', 'unknown variable "cel"'],
  ['args.a.split("").join(args.a) == ""', 'unknown method'],
  ['duration(args.a) == duration("1s")', 'unknown function "duration"'],
  ['net.matchesInLinearTime("a")', 'unknown method "matchesInLinearTime"'],
  // Patterns.
  ['args.a.matches(args.b)', 'takes for matches another pattern than one written out'],
  ['args.a.matches("a" + "b")', 'takes for matches another pattern than one written out'],
  ['args.a.matches("(?=a)")', 'has a pattern that is not taken. The pattern "(?=a)"'],
  ['args.a.matches("(")', 'has a pattern that is not taken'],
  // Size.
  [`${'!'.repeat(400)}true`, 'cannot be read: Exceeded maxAstNodes'],
  [`${'('.repeat(100)}true${')'.repeat(100)}`, 'cannot be read: Exceeded maxDepth'],
])('an expression is refused at the load: %s', async (when, message) => {
  const said = await faultOf([rule({ when })]);
  expect(said).toContain(`The policy's rule "r": "when" at character `);
  expect(said).toContain(message);
  expect(said).toMatch(/Correct the expression\.$/);
});

test('rules as JSON are loaded, with everything that may stand in one', async () => {
  const text = JSON.stringify([
    rule({ expires: '2027-01-01T00:00:00+02:00' }),
    rule({ id: 'A.b_c-9', effect: 'ask', allowAlways: false }),
    rule({ id: 'third', effect: 'allow', when: 'net == "deny" // as declared' }),
  ]);
  expect(await compileRules(JSON.parse(text))).toBeTypeOf('function');
});
