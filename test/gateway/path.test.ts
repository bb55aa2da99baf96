import { describe, expect, test } from 'vitest';
import { modelText } from '../../src/gateway/model-text.ts';
import { harness } from '../support/harness.ts';

describe('one call', () => {
  test('is asked, submitted as the person, followed, and answered as untrusted data', async () => {
    const asked: unknown[] = [];
    const h = await harness({
      gateway: {
        approver: async (request) => {
          asked.push(request);
          return { decision: 'approve' };
        },
      },
    });
    h.mock.next({ result: { slug: 'hello-world' }, wallMs: 42 });
    const outcome = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: '{"title":"Hello World"}' });
    expect(outcome).toMatchObject({
      status: 'completed',
      executed: true,
      durable: false,
      call: { id: 'c1', name: h.slugify },
      step: { state: 'ended', target: 'slugify-a-title@1.0.0 slugify' },
      job: { node: 'node-pool-1', tier: 'pool', wallMs: 42, exit: { reason: 'exited', code: 0 } },
    });
    expect(outcome.status === 'completed' && outcome.value.reveal()).toEqual({ slug: 'hello-world' });
    expect(asked).toHaveLength(1);
    expect(h.mock.jobs).toBe(1);
    expect(modelText(outcome)).toMatch(
      /<untrusted-[0-9a-f]{16} kind="result">\n\{"slug":"hello-world"\}\n<\/untrusted-/,
    );
    expect(h.told).toEqual([
      'step-pending',
      'step-decided',
      'step-submitted',
      'step-finished',
      'call-finished',
    ]);
  });

  test('without an approver it waits for a decision, and a resume runs it', async () => {
    const h = await harness();
    h.mock.next({ result: 1 });
    const call = { id: 'c1', name: h.slugify, arguments: { title: 'a' } };
    const waiting = await h.gateway.call(call);
    expect(waiting.status).toBe('awaiting_approval');
    const [request] = await h.gateway.approvals.pending();
    await h.gateway.approvals.approve(request?.id ?? '', {
      by: request?.person.subject ?? '',
      digest: request?.digest ?? '',
    });
    const outcome = await h.gateway.resume(request?.id ?? '');
    expect(outcome.status).toBe('completed');
    expect(h.mock.jobs).toBe(1);
  });

  test('the approver is what a person would see', async () => {
    const h = await harness();
    await h.gateway.call({ id: 'c1', name: h.fetchTitle, arguments: { url: 'https://example.org' } });
    const [request] = await h.gateway.approvals.pending();
    expect(request).toMatchObject({
      kind: 'skill.run',
      label: "running a skill's code in a sandbox",
      target: 'fetch-a-page-title@2.1.0 fetch_title · internet',
      skill: { slug: 'fetch-a-page-title', version: '2.1.0', name: 'Fetch a page title' },
      arguments: { url: 'https://example.org' },
      net: { value: 'public', words: 'the internet' },
      limits: { wall_ms: 15_000, mem_bytes: 134_217_728 },
      where: "OpenVibe's pool: node-pool-1 (eu-test)",
      always: { allowed: true },
    });
  });
});
