import { describe, expect, test } from 'vitest';
import { createNodeDirectory, type NodeDirectoryOptions } from '../../src/run/nodes.ts';
import { type Answer, fakeRun, json } from './support/fake-run.ts';
import { ann, bob } from './support/jobs.ts';
import { createTestClock } from './support/test-clock.ts';

const skills = ['worker:function', 'function:openvibe-skill-runner-1.0.0'];

function offer(node: string, change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    offer_id: `offer-${node}`,
    kind: 'node',
    node_id: node,
    region: 'eu-west',
    trust: 'first-party',
    capabilities: [...skills, 'egress:none', 'egress:public'],
    health: { status: 'up' },
    pricing: { model: 'per-second' },
    updated_at: '2026-11-20T10:00:00Z',
    ...change,
  };
}

function setUp(answer: () => Answer, options: Partial<NodeDirectoryOptions> = {}) {
  const clock = createTestClock();
  const run = fakeRun(answer);
  const directory = createNodeDirectory({ ownNodes: () => [], fetch: run.fetch, clock, ...options });
  const names = async (person = ann, fresh = false): Promise<string[]> => {
    const nodes = await clock.run(directory.nodes({ person }, { fresh }));
    return nodes.map(({ node, tier }) => `${tier} ${node}`);
  };
  return { clock, run, directory, names };
}

const offers = (...list: unknown[]): Response => json({ offers: list });

describe('which nodes run skills', () => {
  test('the pool is first-party, own are the user-owned that the platform confirmed, nothing else is either', async () => {
    const { names } = setUp(
      () =>
        offers(
          offer('pool'),
          offer('mine', { trust: 'user-owned' }),
          offer('theirs', { trust: 'user-owned' }),
          ...['partner', 'community', 'external', 'first-party ', 'FIRST-PARTY', ''].map((trust) =>
            offer(`x-${trust}`, { trust }),
          ),
        ),
      { ownNodes: () => ['mine', 'x-partner', 'x-community'] },
    );
    expect(await names()).toEqual(['pool pool', 'own mine']);
  });

  test.each([
    ['the runner alone', ['function:openvibe-skill-runner-1.0.0', 'egress:none']],
    ['the worker alone', ['worker:function', 'egress:none']],
    ['another version', ['worker:function', 'function:openvibe-skill-runner-1.0.1', 'egress:none']],
    ['a longer name', ['worker:function', 'function:openvibe-skill-runner-1.0.00', 'egress:none']],
    ['other case', ['Worker:Function', 'function:openvibe-skill-runner-1.0.0']],
  ])('an offer with %s runs none', async (_, capabilities) => {
    const { names } = setUp(() => offers(offer('a', { capabilities })));
    expect(await names()).toEqual([]);
  });

  test.each([
    ['up', 1],
    ['degraded', 1],
    ['down', 0],
    ['draining', 0],
    ['', 0],
    ['unknown', 0],
  ])('health %j', async (status, count) => {
    const { names } = setUp(() => offers(offer('a', { health: { status } })));
    expect(await names()).toHaveLength(count);
  });

  test('its networks are exactly those it lists', async () => {
    const { clock, directory } = setUp(() =>
      offers(
        offer('all', { capabilities: [...skills, 'egress:public', 'egress:openvibe-only', 'egress:none'] }),
        offer('none', { capabilities: [...skills, 'egress:deny', 'egress:*'] }),
        offer('public', { capabilities: [...skills, 'egress:public'] }),
      ),
    );
    const nodes = await clock.run(directory.nodes({ person: ann }));
    expect(nodes.map(({ nets }) => nets)).toEqual([['deny', 'openvibe-only', 'public'], [], ['public']]);
  });

  test('one bad offer hides no good one', async () => {
    const { names } = setUp(() =>
      offers(
        null,
        5,
        {},
        offer('a', { capabilities: 'worker:function' }),
        offer('b', { health: null }),
        offer('c', { node_id: 'x'.repeat(200) }),
        offer('d', { kind: 'model' }),
        offer('good', { region: null }),
      ),
    );
    expect(await names()).toEqual(['pool good']);
  });

  test('a region is bounded, and what is invisible in it is made visible', async () => {
    const { clock, directory } = setUp(() => offers(offer('a', { region: `eu\u202e${'x'.repeat(500)}` })));
    const [node] = await clock.run(directory.nodes({ person: ann }));
    expect(node?.detail).toMatch(/^eu\\u\{202e\}x+$/);
    expect(node?.detail?.length).toBeLessThan(80);
  });

  test('the request names no person and carries no credential', async () => {
    const { run, names } = setUp(() => offers());
    await names();
    expect(run.seen[0]?.url.href).toBe('https://openvibe.network/api/v1/offers?kind=node');
    const sent = [...(run.seen[0]?.headers.keys() ?? [])];
    expect(sent.filter((name) => /authorization|x-ov|cookie/.test(name))).toEqual([]);
  });
});

describe('memory', () => {
  test('one read of the offers serves everybody until it is old; each person’s own nodes are asked anew', async () => {
    const asked: string[] = [];
    const { clock, run, names } = setUp(
      () => offers(offer('ann-1', { trust: 'user-owned' }), offer('bob-1', { trust: 'user-owned' })),
      {
        ownNodes: ({ subject }) => {
          asked.push(subject);
          return subject === ann.subject ? ['ann-1'] : ['bob-1'];
        },
      },
    );
    expect(await names(ann)).toEqual(['own ann-1']);
    expect(await names(bob)).toEqual(['own bob-1']);
    expect(await names(ann)).toEqual(['own ann-1']);
    expect(run.seen).toHaveLength(1);
    expect(asked).toEqual([ann.subject, bob.subject, ann.subject]);
    await clock.advance(30_001);
    await names(bob);
    expect(run.seen).toHaveLength(2);
  });

  test('`fresh` reads again, and what it read is remembered', async () => {
    let list = [offer('a')];
    const { run, names } = setUp(() => offers(...list));
    await names();
    list = [offer('b')];
    expect(await names()).toEqual(['pool a']);
    expect(await names(ann, true)).toEqual(['pool b']);
    expect(await names()).toEqual(['pool b']);
    expect(run.seen).toHaveLength(2);
  });
});

describe('a look-up that fails', () => {
  test.each<[string, NodeDirectoryOptions['ownNodes']]>([
    [
      'throws',
      () => {
        throw new Error('secret');
      },
    ],
    ['rejects', () => Promise.reject(new Error('secret'))],
    ['hangs', () => new Promise(() => {})],
  ])('of own nodes answers no pool instead: %s', async (_, ownNodes) => {
    const { names } = setUp(() => offers(offer('pool')), { ownNodes });
    const error = await names().catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'run_unreachable' });
    expect(String(error)).not.toContain('secret');
  });

  test.each([undefined, null, 'node-1', [1], [['a']]])(
    'ownNodes of %j is the host’s fault',
    async (answer) => {
      const { names } = setUp(() => offers(offer('pool')), { ownNodes: () => answer as unknown as string[] });
      await expect(names()).rejects.toMatchObject({ code: 'option_invalid' });
    },
  );

  test('of the offers rejects, and the next one asks again', async () => {
    let broken = true;
    const { names } = setUp(() => (broken ? new TypeError('fetch failed') : offers(offer('a'))));
    await expect(names()).rejects.toMatchObject({ code: 'run_unreachable' });
    broken = false;
    expect(await names()).toEqual(['pool a']);
  });

  test('an answer that is no list of offers is invalid', async () => {
    const { names } = setUp(() => json({ offers: {} }));
    await expect(names()).rejects.toMatchObject({ code: 'run_answer_invalid' });
  });

  test('an abort is an abort', async () => {
    const { directory, run } = setUp(() => offers());
    const signal = AbortSignal.abort();
    await expect(directory.nodes({ person: ann, signal })).rejects.toMatchObject({ code: 'aborted' });
    expect(run.seen).toHaveLength(0);
  });
});
