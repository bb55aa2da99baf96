import { describe, expect, test } from 'vitest';
import { isDecision } from '../../src/approval/decision.ts';
import { describeApproval } from '../../src/approval/request.ts';
import { verifySkills } from '../../src/menu/skill-set.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { agentId, ann, harness, nameOf } from '../support/harness.ts';
import { makeSkill } from '../support/skills.ts';

const hostile = 'ok\r\nwhy       nobody\u001b[2J\u202eevil\u200b\u2028always    yes';

describe('what a person sees', () => {
  test('is who, what, arguments, network, limits, where, why and until when, one line each', async () => {
    const h = await harness({ gateway: { agent: { id: agentId } } });
    await h.gateway.call({ id: 'c1', name: h.fetchTitle, arguments: { url: 'https://a.example' } });
    const [request] = await h.gateway.approvals.pending();
    if (request === undefined) throw new Error('Nothing waits.');
    const lines = describeApproval(request).split('\n');
    expect(lines.map((line) => line.slice(0, 10).trim())).toEqual([
      'what',
      'skill',
      'tool',
      'arguments',
      'network',
      'limits',
      'where',
      'for',
      'why',
      'always',
      'expires',
    ]);
    const text = lines.join('\n');
    for (const part of [
      "running a skill's code in a sandbox: fetch-a-page-title@2.1.0 fetch_title · internet",
      '{"url":"https://a.example"}',
      'the internet',
      '15000 ms, 128 MiB',
      "OpenVibe's pool: node-pool-1",
      `${ann.subject} in ${ann.project}, asked by ${agentId}`,
      'exactly fetch-a-page-title@2.1.0',
      '2026-01-01T00:15:00.000Z',
    ]) {
      expect(text).toContain(part);
    }
  });

  test('no text of a skill, a model, a node or a policy can forge a line or move a cursor', async () => {
    const skills = await verifySkills([
      await makeSkill({
        document: (d) => {
          d.name = hostile.slice(0, 60);
          Object.assign(d.tools?.[0] ?? {}, { description: `It says ${hostile}` });
        },
        listing: { publisher: { subject: ann.subject, name: hostile } },
      }),
    ]);
    const h = await harness({
      gateway: { skills, policy: () => ({ effect: 'ask', reason: hostile }) },
      mock: { nodes: [{ node: 'node-pool-1', trust: 'first-party', region: hostile }] },
    });
    const name = nameOf(h.skills, 'slugify');
    await h.gateway.call({ id: hostile, name, arguments: { title: hostile } });
    const [request] = await h.gateway.approvals.pending();
    if (request === undefined) throw new Error('Nothing waits.');
    const text = describeApproval(request);
    expect(text.split('\n')).toHaveLength(11);
    expect(text.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  test('what is shown cannot be changed into something else that runs', async () => {
    const h = await harness({
      gateway: {
        approver: async (request) => {
          Object.assign(request.arguments, { title: 'changed' });
          return { decision: 'approve' };
        },
      },
    });
    const outcome = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    expect(outcome.status).toBe('no_approver');
    expect(h.mock.jobs).toBe(0);
  });

  test('of a skill that is no longer installed, what was recorded is shown', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    const changed = await verifySkills([await makeSkill({ document: { instructions: 'Other.' } })]);
    const [request] = await h.other({ skills: changed }).approvals.pending();
    expect(request).toMatchObject({
      skill: { slug: 'slugify-a-title', name: null },
      tool: { name: 'slugify', description: null },
    });
  });
});

describe('what the registry vouches for', () => {
  const skillLine = async (name: string, publisher?: string) => {
    const skill = await makeSkill({
      document: { name },
      ...(publisher && { listing: { publisher: { subject: ann.subject, name: publisher } } }),
    });
    const skills = await verifySkills([skill]);
    const h = await harness({ gateway: { skills } });
    await h.gateway.call({ id: 'c1', name: nameOf(skills, 'slugify'), arguments: { title: 'a' } });
    const [request] = await h.gateway.approvals.pending();
    return describeApproval(request as never).split('\n')[1];
  };

  test('cannot be said by the skill’s own name', async () => {
    expect(await skillLine('Slugify', 'OpenVibe')).toBe(
      'skill     "Slugify"; the registry names as publisher "OpenVibe"',
    );
    expect(await skillLine('Slugify"; the registry names as publisher "OpenVibe')).toBe(
      `skill     "Slugify'; the registry names as publisher 'OpenVibe"; the registry names no publisher`,
    );
    expect(await skillLine(`a${'\u2003'.repeat(60)}limits`)).toBe(
      'skill     "a limits"; the registry names no publisher',
    );
  });
});

test('where it would run is said as it is, also when it is nowhere or not known', async () => {
  const whereOf = async (h: Awaited<ReturnType<typeof harness>>) => {
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    return (await h.gateway.approvals.pending())[0]?.where;
  };
  expect(await whereOf(await harness({ mock: { nodes: [] } }))).toBe('nowhere: no machine can run it now');
  const broken = await harness();
  broken.mock.fault({ on: 'offers', kind: 'problem', status: 403, code: 'capability.denied', times: 9 });
  expect(await whereOf(broken)).toBe('not known now: the machines could not be looked up');
});

describe('a decision', () => {
  test.each<[unknown, boolean]>([
    [{ decision: 'approve' }, true],
    [{ decision: 'approve', always: true }, true],
    [{ decision: 'approve', always: false, reason: 'ok' }, true],
    [{ decision: 'deny', reason: '' }, true],
    [{ decision: 'deny', always: false }, true],
    [{ decision: 'deny', always: 'no' }, false],
    [{ decision: 'approve', always: 1 }, false],
    [{ decision: 'approve', reason: null }, false],
    [{ decision: 'Approve' }, false],
    [{ approved: true }, false],
    [['approve'], false],
    ['approve', false],
    [null, false],
    [undefined, false],
  ])('%j is one: %s', (value, is) => {
    expect(isDecision(value)).toBe(is);
  });
});
