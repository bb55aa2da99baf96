import { expect, test } from 'vitest';
import { createNodeDirectory } from '../../src/run/nodes.ts';
import { createRunService } from '../../src/run/run-service.ts';
import { createMockRun } from '../../src/testing/mock-run.ts';
import { ann, jobRequest } from '../link/helpers.ts';

test('C96: the Run client rides out the mock faults: two submits, one job, its result', async () => {
  await using mock = createMockRun({
    nodes: [
      { node: 'mine', trust: 'user-owned', nets: ['deny'] },
      { node: 'theirs', trust: 'user-owned' },
      { node: 'pool', trust: 'first-party' },
    ],
  });
  const run = createRunService({
    baseUrl: mock.baseUrl,
    token: () => 'token',
    fetch: mock.fetch,
    nodes: createNodeDirectory({
      baseUrl: mock.networkUrl,
      fetch: mock.fetch,
      ownNodes: () => ['mine'],
    }),
  });
  const nodes = await run.nodes({ person: ann });
  expect(nodes.map(({ node, tier, nets }) => [node, tier, nets.length])).toEqual([
    ['mine', 'own', 1],
    ['pool', 'pool', 3],
  ]);
  mock.next({ result: 5 });
  mock.fault({ on: 'submit', kind: 'drop-after' });
  mock.fault({ on: 'stream', kind: 'cut', after: 1 });
  const { job } = await run.submit(jobRequest(), { person: ann });
  const end = await run.follow(job.id, { person: ann, budgetMs: 20_000 });
  expect(end).toMatchObject({ state: 'succeeded', result: 5, placement: { node: 'mine' } });
  expect([mock.submits, mock.jobs]).toEqual([2, 1]);
});
