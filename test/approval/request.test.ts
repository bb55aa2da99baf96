import { describe, expect, test } from 'vitest';
import { describeApproval } from '../../src/approval/request.ts';
import { verifySkills } from '../../src/menu/skill-set.ts';
import { acknowledgementOf } from '../../src/skill/listing.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import { agentId, ann, harness, nameOf } from '../support/harness.ts';
import { makeSkill } from '../support/skills.ts';

describe('what a person approves is shown exactly', () => {
  test('who, skill, version, tool, arguments, net with declared hosts, where, always, why, expiry', async () => {
    const { document, listing } = await makeSkill({
      document: (d) => {
        d.requires = { kinds: ['skill.run'], hosts: ['api.example.org', 'example.org'] };
        Object.assign(d.tools?.[0] ?? {}, { net: 'public' });
      },
      listing: {
        publisher: { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', name: 'Ann\u202e' },
        scan: {
          verdict: 'flagged',
          findings: [
            { rule: 'network-use', severity: 'flag', message: 'Uses the network.', tool: 'slugify' },
            { rule: 'network-use', severity: 'flag', message: 'Of another tool.', tool: 'other' },
          ],
        },
      },
    });
    const skills = await verifySkills([
      { document, listing, acknowledged: await acknowledgementOf(listing) },
    ]);
    const h = await harness({
      gateway: { skills, agent: { id: agentId }, policy: () => ({ effect: 'ask', reason: 'Rule 7.' }) },
    });
    await h.gateway.call({ id: 'c1', name: nameOf(skills, 'slugify'), arguments: { title: 'a' } });
    const [request] = await h.gateway.approvals.pending();
    expect(request).toMatchObject({
      target: 'slugify-a-title@1.0.0 slugify · internet',
      person: ann,
      agent: agentId,
      skill: { publisher: 'Ann\\u{202e}', hash: document.integrity.hash },
      tool: { name: 'slugify', description: document.tools?.[0]?.description },
      arguments: { title: 'a' },
      net: { value: 'public', words: 'the internet', hosts: ['api.example.org', 'example.org'] },
      limits: { wall_ms: 10_000, mem_bytes: 134_217_728 },
      why: 'Rule 7.',
      expiresAt: new Date(h.clock.now() + 900_000).toISOString(),
    });
    expect(request?.findings.map((found) => found.message)).toEqual(['Uses the network.']);
    expect(request?.always.covers).toContain('exactly slugify-a-title@1.0.0');
    const text = describeApproval(request as never);
    for (const part of [
      'the internet',
      'api.example.org',
      ann.subject,
      agentId,
      'Rule 7.',
      '{"title":"a"}',
      'Uses the network.',
      'node-pool-1',
    ]) {
      expect(text).toContain(part);
    }
  });

  test('no text of a stranger’s can forge a line or move the cursor', async () => {
    const hostile = 'x\nnetwork   no internet\r\u001b[2A\u202e';
    const skills = await verifySkills([
      await makeSkill({
        document: (d) => {
          d.name = hostile;
          Object.assign(d.tools?.[0] ?? {}, { description: hostile, net: 'public' });
        },
      }),
    ]);
    const h = await harness({ gateway: { skills } });
    await h.gateway.call({ id: 'c1', name: nameOf(skills, 'slugify'), arguments: { title: hostile } });
    const [request] = await h.gateway.approvals.pending();
    const lines = describeApproval(request as never).split('\n');
    expect(lines.filter((line) => line.startsWith('network'))).toEqual(['network   the internet']);
    for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test('a skill that is gone, or changed, is named from the record alone', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store } });
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    const changed = await verifySkills([await makeSkill({ document: { instructions: 'Other.' } })]);
    for (const skills of [changed, await verifySkills([])]) {
      const [request] = await h.other({ skills }).approvals.pending();
      expect(request).toMatchObject({
        skill: { slug: 'slugify-a-title', name: null },
        tool: { name: 'slugify', description: null },
      });
      expect(describeApproval(request as never)).toContain('(no longer installed)');
    }
  });

  test('where it would run is said as it is, also when it is nowhere or not known', async () => {
    const whereOf = async (change: Parameters<typeof harness>[0]) => {
      const h = await harness(change);
      if (change?.mock?.nodes === undefined)
        h.mock.fault({ on: 'offers', kind: 'problem', status: 403, code: 'capability.denied', times: 9 });
      await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
      return (await h.gateway.approvals.pending())[0]?.where;
    };
    expect(await whereOf({ mock: { nodes: [] } })).toMatch(/^nowhere: no machine can run it now/);
    expect(await whereOf({})).toMatch(/^(nowhere|not known)/);
  });
});
