import { describe, expect, test } from 'vitest';
import { modelText } from '../../src/gateway/model-text.ts';
import { verifySkills } from '../../src/menu/skill-set.ts';
import { approve, harness, nameOf, submitBodies } from '../support/harness.ts';
import { makeSkill } from '../support/skills.ts';

async function openTool() {
  const skill = await makeSkill({
    document: (d) =>
      void Object.assign(d.tools?.[0] ?? {}, {
        args: { type: 'object', properties: { n: { type: 'integer' } } },
      }),
  });
  const skills = await verifySkills([skill]);
  return { skills, name: nameOf(skills, 'slugify') };
}

describe('C86: a model’s arguments', () => {
  test.each<[string, unknown, 'taken' | 'refused', 'taken' | 'refused']>([
    ['nothing', '', 'taken', 'refused'],
    ['white space', ' \n', 'taken', 'refused'],
    ['an empty object', '{}', 'taken', 'refused'],
    ['an object', { title: 'a' }, 'taken', 'taken'],
    ['an object with trailing quotes', '{}""', 'refused', 'refused'],
    ['a truncated object', '{"title":"a', 'refused', 'refused'],
    ['null', 'null', 'refused', 'refused'],
    ['null itself', null, 'refused', 'refused'],
    ['an array', '[]', 'refused', 'refused'],
    ['a number', '5', 'refused', 'refused'],
    ['a string', '"x"', 'refused', 'refused'],
    ['a bad escape', '{"title":"C:\\path"}', 'refused', 'refused'],
    ['a key twice', '{"title":"a","title":"b"}', 'refused', 'refused'],
    ['a prototype key', '{"title":"a","__proto__":{}}', 'refused', 'refused'],
    ['too many bytes', JSON.stringify({ title: 'é'.repeat(40_000) }), 'refused', 'refused'],
    [
      'a cyclic object',
      Object.assign(
        {},
        {
          get self(): unknown {
            return this;
          },
        },
      ),
      'refused',
      'refused',
    ],
    ['a function', () => ({}), 'refused', 'refused'],
    ['a big integer', { title: 1n }, 'refused', 'refused'],
    ['not a number', { title: Number.NaN }, 'refused', 'refused'],
  ])('%s', async (_, args, withoutRequired, withRequired) => {
    const open = await openTool();
    const loose = await harness({ gateway: { skills: open.skills } });
    const strict = await harness();
    const results = [
      await loose.gateway.call({ id: 'c1', name: open.name, arguments: args }),
      await strict.gateway.call({ id: 'c1', name: strict.slugify, arguments: args }),
    ];
    const seen = results.map((outcome) => (outcome.status === 'awaiting_approval' ? 'taken' : 'refused'));
    expect(seen).toEqual([withoutRequired, withRequired]);
    for (const [index, outcome] of results.entries()) {
      if (seen[index] === 'taken') continue;
      expect(outcome).toMatchObject({ status: 'invalid_arguments', executed: false });
      expect(outcome.step).toBeUndefined();
    }
    expect(await strict.gateway.approvals.pending()).toHaveLength(seen[1] === 'taken' ? 1 : 0);
  });

  test('C89: what comes back names path, expected and received, with the schema, and echoes no value', async () => {
    const h = await harness();
    const secret = 'sesame'.repeat(400);
    const outcome = await h.gateway.call({
      id: 'c1',
      name: h.slugify,
      arguments: { title: secret, shorten: 'yes', x: 1 },
    });
    expect(
      outcome.status === 'invalid_arguments' && outcome.errors.map((error) => error.path).sort(),
    ).toEqual(['/shorten', '/title', '/x']);
    const text = modelText(outcome);
    expect(text).toContain('/shorten');
    expect(text).toContain('boolean');
    expect(text).toContain('"maxLength":120');
    expect(text).not.toContain('sesame');
    expect(text.length).toBeLessThan(2000);
  });

  test('C86: a position is named where the text is not JSON', async () => {
    const h = await harness();
    const outcome = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: '{"title":"C:\\path"}' });
    expect(modelText(outcome)).toMatch(/character \d+|position \d+/);
  });
});

describe('C77, C39: names', () => {
  test.each([
    'constructor',
    '__proto__',
    'toString',
    'hasOwnProperty',
    'parallel',
    'multi_tool_use.parallel',
    '',
    '</untrusted>',
  ])('a call of %j is an outcome that names the menu', async (name) => {
    const h = await harness();
    const outcome = await h.gateway.call({ id: 'c1', name, arguments: '{}' });
    expect(outcome).toMatchObject({
      status: 'unknown_tool',
      executed: false,
      available: h.skills.menu.tools.map((tool) => tool.name),
    });
  });
});

describe('C11: what is shown is what runs', () => {
  test('the host’s hook changes the arguments before anyone is asked, and the job has exactly those', async () => {
    let shown: unknown;
    const h = await harness({
      gateway: {
        transformArguments: (args) => ({ ...args, title: String(args.title).trim() }),
        approver: async (request) => {
          shown = request.arguments;
          return approve();
        },
      },
    });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: '{"title":"Hi "}' });
    expect(shown).toEqual({ title: 'Hi' });
    expect(JSON.stringify(submitBodies(h)[0]?.args.input)).toBe(JSON.stringify(shown));
  });

  test('what the hook makes is validated again, and a hook that throws stops the call', async () => {
    const wrong = await harness({ gateway: { transformArguments: () => ({ title: 5 }) } });
    expect(
      (await wrong.gateway.call({ id: 'c1', name: wrong.slugify, arguments: { title: 'a' } })).status,
    ).toBe('invalid_arguments');
    const thrown = await harness({
      gateway: {
        transformArguments: () => {
          throw new Error('down');
        },
      },
    });
    const outcomes = await thrown.gateway.callAll([
      { id: 'c1', name: thrown.slugify, arguments: { title: 'a' } },
      { id: 'c2', name: 'nothing', arguments: {} },
    ]);
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['refused', 'unknown_tool']);
    expect(thrown.mock.jobs).toBe(0);
  });

  test('the model’s object cannot change after the call', async () => {
    const h = await harness();
    const args = { title: 'before' };
    const calling = h.gateway.call({ id: 'c1', name: h.slugify, arguments: args });
    args.title = 'after';
    await calling;
    expect((await h.gateway.approvals.pending())[0]?.arguments).toEqual({ title: 'before' });
  });
});

describe('C105: never wider', () => {
  test('the job has the tool’s own net and limits, with the defaults filled in', async () => {
    const h = await harness({ gateway: { approver: approve } });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    await h.gateway.call({ id: 'c2', name: h.fetchTitle, arguments: { url: 'https://a.example' } });
    expect(submitBodies(h).map(({ egress, limits }) => ({ egress, limits }))).toEqual([
      { egress: 'none', limits: { wall_ms: 10_000, cpu_ms: 10_000, mem_bytes: 134_217_728 } },
      { egress: 'public', limits: { wall_ms: 15_000, cpu_ms: 15_000, mem_bytes: 134_217_728 } },
    ]);
  });

  test('a host narrows; asking for more throws', async () => {
    const narrow = await harness({
      gateway: { approver: approve, narrow: () => ({ net: 'deny', limits: { wall_ms: 500 } }) },
    });
    await narrow.gateway.call({ id: 'c1', name: narrow.fetchTitle, arguments: { url: 'https://a.example' } });
    expect(submitBodies(narrow)[0]).toMatchObject({ egress: 'none', limits: { wall_ms: 500, cpu_ms: 500 } });
    const wider = [
      { net: 'public' },
      { limits: { wall_ms: 10_001 } },
      { limits: { mem_bytes: 0 } },
      { limits: { wall_ms: Number.NaN } },
      { net: 'all' },
    ];
    for (const change of wider) {
      const h = await harness({ gateway: { narrow: () => change as never } });
      await expect(
        h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } }),
      ).rejects.toMatchObject({ code: 'widening_refused' });
      expect(await h.gateway.approvals.pending()).toEqual([]);
    }
  });
});
