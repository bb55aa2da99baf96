import { describe, expect, test } from 'vitest';
import type { GatewayOptions } from '../../src/gateway/options.ts';
import { newId } from '../../src/ids.ts';
import type { AuditEntry } from '../../src/store/audit.ts';
import { parseAuditLine } from '../../src/store/audit-line.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import { verifyAudit } from '../../src/store/verify-audit.ts';
import { agentId, ann, approve, type Harness, harness, passing, until } from '../support/harness.ts';

const by = ann.subject;
const callOf = (h: Harness, id: string) => ({ id, name: h.slugify, arguments: { title: `value-of-${id}` } });
const auto: Partial<GatewayOptions> = {
  agent: { id: agentId, level: 'auto' },
  policy: () => ({ effect: 'allow' }),
};

async function linesOf(h: Harness, options?: { after?: number; values?: boolean }): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of h.gateway.audit.export(options)) lines.push(line);
  return lines;
}

describe('the export', () => {
  test('is the whole chain, which verifies; after any entry the rest', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, ...auto } });
    await passing(h.clock, h.gateway.callAll(Array.from({ length: 5 }, (_, n) => callOf(h, `c${n}`))));
    const chain = await store.audit.list(ann);
    const lines = await linesOf(h);
    expect(lines.map(parseAuditLine)).toEqual(chain);
    const head = chain.at(-1) as AuditEntry;
    expect(await verifyAudit(ann, lines, { head })).toMatchObject({ ok: true, count: 15 });
    const from = chain[6] as AuditEntry;
    expect(await verifyAudit(ann, h.gateway.audit.export({ after: 7 }), { from, head })).toMatchObject({
      ok: true,
      count: 8,
    });
    expect(await linesOf(h, { after: 15 })).toEqual([]);
  });

  test('reads page by page, and ends with a store that gives the same page again', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, ...auto } });
    const pages: unknown[] = [];
    let entries: AuditEntry[] = [];
    const list: StorePort['audit']['list'] = async (_scope, page) => {
      pages.push(page);
      return entries.filter(({ seq }) => seq > (page?.after ?? 0)).slice(0, page?.limit);
    };
    const other = h.other({ store: { ...store, audit: { ...store.audit, list } } });
    entries = Array.from(
      { length: 1200 },
      (_, n) => ({ id: newId('aud', n), seq: n + 1, previous: '', hash: '' }) as AuditEntry,
    );
    let count = 0;
    for await (const _ of other.audit.export()) count += 1;
    expect(count).toBe(1200);
    expect(pages).toEqual([0, 500, 1000, 1200].map((after) => ({ after, limit: 500 })));
    const stuck = h.other({
      store: { ...store, audit: { ...store.audit, list: async () => entries.slice(0, 3) } },
    });
    count = 0;
    for await (const _ of stuck.audit.export()) count += 1;
    expect(count).toBe(6);
  });

  test('a closed gateway, or an `after` that is none, throws', async () => {
    const h = await harness();
    for (const after of [-1, 0.5, Number.NaN, '1' as never]) {
      expect(() => h.gateway.audit.export({ after })).toThrow(
        expect.objectContaining({ code: 'option_invalid' }),
      );
    }
    await h.gateway.close();
    expect(() => h.gateway.audit.export()).toThrow(expect.objectContaining({ code: 'closed' }));
  });
});

describe('C114: values', () => {
  test('are nowhere in the audit by default', async () => {
    const store = createMemoryStore();
    const seen: AuditEntry[] = [];
    const h = await harness({ gateway: { store, auditSink: (entry) => void seen.push(entry) } });
    const { step } = await h.gateway.call(callOf(h, 'c1'));
    await h.gateway.approvals.approve(step?.id ?? '', { by, arguments: { title: 'value-of-ann' } });
    await h.gateway.resume(step?.id ?? '');
    const lines = await linesOf(h, { values: true });
    expect(lines).toHaveLength(5);
    expect(JSON.stringify([lines, seen])).not.toContain('value-of');
    for (const entry of seen) expect(entry.arguments).toBeNull();
  });

  test('with auditValues are in what was asked, edited and approved, and leave only by an explicit option', async () => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, auditValues: true } });
    const { step } = await h.gateway.call(callOf(h, 'c1'));
    await h.gateway.approvals.approve(step?.id ?? '', { by, arguments: { title: 'value-of-ann' } });
    await h.gateway.resume(step?.id ?? '');
    const chain = await store.audit.list(ann);
    expect(chain.map((entry) => [entry.event, entry.arguments])).toEqual([
      ['ask', { title: 'value-of-c1' }],
      ['edit', { title: 'value-of-c1' }],
      ['approve', { title: 'value-of-ann' }],
      ['submit', null],
      ['end', null],
    ]);
    const head = chain.at(-1) as AuditEntry;
    const [bare, full] = [await linesOf(h), await linesOf(h, { values: true })];
    expect(bare.join('')).not.toContain('value-of');
    expect(full.map(parseAuditLine)).toEqual(chain);
    for (const lines of [bare, full])
      expect(await verifyAudit(ann, lines, { head })).toMatchObject({ ok: true, count: 5 });
    const forged = full.map((line) => line.replace('value-of-ann', 'value-of-bob'));
    expect(await verifyAudit(ann, forged)).toMatchObject({ ok: false, seq: 3, reason: 'changed' });
  });
});

describe('a sink', () => {
  test('is told of each entry after it was appended, in order', async () => {
    const store = createMemoryStore();
    const seen: AuditEntry[] = [];
    const h = await harness({
      gateway: {
        store,
        approver: approve,
        async auditSink(entry) {
          expect((await store.audit.list(ann)).at(entry.seq - 1)).toEqual(entry);
          seen.push(entry);
        },
      },
    });
    await h.gateway.call(callOf(h, 'c1'));
    await until(() => seen.length === 4);
    expect(seen).toEqual(await store.audit.list(ann));
    expect(h.told).not.toContain('fault');
  });

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('disk full');
      },
    ],
    ['rejects', () => Promise.reject(new Error('disk full'))],
  ])('C113: one that %s is a fault and stops nothing', async (_, auditSink) => {
    const store = createMemoryStore();
    const h = await harness({ gateway: { store, approver: approve, auditSink: auditSink as never } });
    expect((await h.gateway.call(callOf(h, 'c1'))).status).toBe('completed');
    await until(() => h.told.filter((name) => name === 'fault').length === 4);
    expect(await verifyAudit(ann, await store.audit.list(ann))).toMatchObject({ ok: true, count: 4 });
  });

  test('one that hangs is not waited for, and one that writes into the entry changes nothing', async () => {
    const store = createMemoryStore();
    const hangs = await harness({
      gateway: { store, approver: approve, auditSink: () => new Promise(() => {}) },
    });
    expect((await hangs.gateway.call(callOf(hangs, 'c1'))).status).toBe('completed');
    const writes = hangs.other({
      auditSink(entry) {
        (entry as { status: string }).status = 'nothing happened';
      },
    });
    expect((await writes.call(callOf(hangs, 'c2'))).status).toBe('completed');
    expect(await verifyAudit(ann, await store.audit.list(ann))).toMatchObject({ ok: true, count: 8 });
  });

  test.each([
    ['auditSink', {}],
    ['auditValues', 'yes'],
  ])('%s of another shape is option_invalid', async (name, value) => {
    const h = await harness();
    expect(() => h.other({ [name]: value })).toThrow(
      expect.objectContaining({ code: 'option_invalid', message: expect.stringMatching(`^${name}: `) }),
    );
  });
});
