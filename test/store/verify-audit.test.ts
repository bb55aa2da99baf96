import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../src/ids.ts';
import type { Json } from '../../src/skill/json.ts';
import { canonicalJson } from '../../src/skill/json.ts';
import { sha256 } from '../../src/skill/sha256.ts';
import {
  type AuditEntry,
  type AuditFacts,
  auditRoot,
  chainEntry,
  withoutValues,
} from '../../src/store/audit.ts';
import { auditLine, parseAuditLine } from '../../src/store/audit-line.ts';
import { verifyAudit } from '../../src/store/verify-audit.ts';
import { ann, ben } from '../support/harness.ts';
import { someTime } from '../support/step.ts';

const facts: AuditFacts = {
  event: 'ask',
  at: '2026-01-01T00:00:00.000Z',
  step: null,
  digest: null,
  target: 'slugify-a-title@1.0.0 slugify',
  argumentBytes: 13,
  by: null,
  job: null,
  status: null,
};

async function chainOf(
  length: number,
  change: Partial<AuditFacts> = { arguments: null },
): Promise<AuditEntry[]> {
  const chain: AuditEntry[] = [];
  for (let n = 0; n < length; n += 1) {
    chain.push(await chainEntry(ann, chain.at(-1), newId('aud', someTime + n), { ...facts, ...change }));
  }
  return chain;
}

/** An entry as somebody writes it who knows how a hash is made. */
const forged = async (head: AuditEntry | undefined, status = 'forged'): Promise<AuditEntry> =>
  chainEntry(ann, head, newId('aud', someTime), { ...facts, status });

const headOf = ({ seq, hash }: AuditEntry) => ({ seq, hash });
const found = async (entries: readonly (AuditEntry | string)[], options = {}) => {
  const verdict = await verifyAudit(ann, entries, options);
  return verdict.ok ? 'ok' : `${verdict.reason} ${verdict.seq}`;
};

describe('a chain that nobody touched', () => {
  test('holds, whole or in pages, as entries or as lines, from a list or a stream', async () => {
    const chain = await chainOf(7);
    const [third, last] = [chain[2], chain[6]] as [AuditEntry, AuditEntry];
    const head = headOf(last);
    expect(await verifyAudit(ann, chain, { head })).toEqual({ ok: true, count: 7, head });
    const page = await verifyAudit(ann, chain.slice(3), { from: third, head });
    expect(page).toEqual({ ok: true, count: 4, head });
    const lines = await Promise.all(chain.map((entry) => auditLine(entry, true)));
    expect(lines.map(parseAuditLine)).toEqual(chain);
    async function* stream() {
      for (const line of `${lines.join('\n')}\r\n\n`.split('\n')) yield line;
    }
    expect(await verifyAudit(ann, stream(), { head })).toEqual({ ok: true, count: 7, head });
    expect(await verifyAudit(ann, [])).toEqual({ ok: true, count: 0, head: null });
    expect(await verifyAudit(ann, [], { from: last })).toEqual({ ok: true, count: 0, head });
    // It may have grown since its head was kept.
    expect(await found(chain, { head: headOf(third) })).toBe('ok');
  });

  test('of before there were values in it holds as it was written', async () => {
    const body = { ...facts, id: newId('aud', someTime), seq: 1, previous: auditRoot };
    const chain = { subject: ann.subject, project: ann.project };
    const old = { ...body, hash: await sha256(canonicalJson({ chain, body } as unknown as Json)) };
    const next = await chainEntry(ann, old, newId('aud', someTime), { ...facts, arguments: { title: 'a' } });
    expect(await found([old, next])).toBe('ok');
    expect(await found([{ ...old, arguments: null }, next])).toBe('changed 1');
    const { arguments: _, ...without } = next;
    expect(await found([old, without])).toBe('changed 2');
  });

  test('holds without its values, and tells of other ones', async () => {
    const chain = await chainOf(3, { arguments: { title: 'a-value' } });
    const lines = await Promise.all(chain.map((entry) => auditLine(entry, false)));
    expect(lines.join('')).not.toContain('a-value');
    expect(await found(lines)).toBe('ok');
    expect(await found([chain[0] as AuditEntry, ...lines.slice(1)])).toBe('ok');
    expect(
      await found([...lines.slice(0, 2), { ...(chain[2] as AuditEntry), arguments: { title: 'b' } }]),
    ).toBe('changed 3');
    expect(await found([...lines.slice(0, 2), { ...(chain[2] as AuditEntry), arguments: null }])).toBe(
      'changed 3',
    );
    expect(await withoutValues({ arguments: null })).toEqual({ arguments: null });
  });
});

describe('the first place that does not hold', () => {
  test('of each kind of fault, where it is', async () => {
    const chain = await chainOf(6);
    const [a, b, c, d, e, f] = chain as [
      AuditEntry,
      AuditEntry,
      AuditEntry,
      AuditEntry,
      AuditEntry,
      AuditEntry,
    ];
    const x = await forged(b);
    const cases: [string, (AuditEntry | string)[]][] = [
      ['changed 3', [a, b, { ...c, status: 'other' }, d, e, f]],
      ['changed 3', [a, b, { ...c, seq: 9 }, d, e, f]],
      ['changed 6', [a, b, c, d, e, { ...f, previous: auditRoot }]],
      ['changed 3', [a, b, { ...c, note: 'more' } as never, d]],
      ['changed 3', [a, b, x, d, e, f]],
      ['changed 1', [await forged(undefined), b, c]],
      ['missing 1', [b, c, d]],
      ['missing 3', [a, b, d, e, f]],
      ['missing 3', [a, b, f]],
      ['out-of-order 2', [a, c, b, d, e, f]],
      ['out-of-order 2', [a, d, c, b, e, f]],
      ['out-of-order 1', [f, e, d, c, b, a]],
      ['out-of-order 5', [a, b, c, d, f, e]],
      ['added 2', [a, b, b, c]],
      ['added 1', [a, b, a, c]],
      ['added 3', [a, b, x, c, d]],
      ['added 3', [a, b, 'not an entry', c, d]],
      ['added 3', [a, b, { ...x, hash: 'f'.repeat(64) }, c, d]],
      ['changed 3', [a, b, 'not an entry', d]],
    ];
    for (const [expected, entries] of cases)
      expect([expected, await found(entries)]).toEqual([expected, expected]);
  });

  test('an end that was cut off, or written anew with all that it follows, is seen by the head', async () => {
    const chain = await chainOf(5);
    const head = headOf(chain[4] as AuditEntry);
    expect(await found(chain.slice(0, 3))).toBe('ok');
    expect(await found(chain.slice(0, 3), { head })).toBe('missing 4');
    expect(await found([], { head })).toBe('missing 1');
    const anew = await chainOf(5, { status: 'anew' });
    expect(await found(anew)).toBe('ok');
    expect(await found(anew, { head })).toBe('changed 5');
    expect(await found(anew.slice(1), { from: headOf(chain[0] as AuditEntry) })).toBe('changed 2');
    expect(await found([], { from: { ...head, hash: 'f'.repeat(64) }, head })).toBe('changed 5');
  });

  test('a head that is none is told, and null is the head of an empty chain', async () => {
    const anew = await chainOf(5, { status: 'anew' });
    const { seq, hash } = headOf((await chainOf(5))[4] as AuditEntry);
    for (const wrong of [{ seq: `${seq}`, hash }, { seq }, { seq: -1, hash }, 5, `${seq} ${hash}`]) {
      for (const option of ['from', 'head']) {
        await expect(verifyAudit(ann, anew, { [option]: wrong })).rejects.toMatchObject({
          code: 'option_invalid',
        });
      }
    }
    expect(await verifyAudit(ann, [], { from: null, head: null })).toEqual({
      ok: true,
      count: 0,
      head: null,
    });
    expect(await found(anew, { head: null })).toBe('ok');
  });

  test('C59: another person’s chain, or of another project, is none of this one', async () => {
    const chain = await chainOf(2);
    for (const scope of [ben, { ...ann, project: ben.project }, { ...ann, subject: ben.subject }]) {
      expect(await verifyAudit(scope, chain)).toMatchObject({ ok: false, seq: 1, reason: 'changed' });
    }
  });

  test('a fault message holds nothing of the entry', async () => {
    const chain = await chainOf(2);
    const verdict = await verifyAudit(ann, [{ ...(chain[0] as AuditEntry), status: 'secret' }]);
    expect(verdict).toEqual({
      ok: false,
      seq: 1,
      reason: 'changed',
      message: 'Entry 1 of the audit is changed: its hash is not that of what it says.',
    });
  });

  test('a stream that is left early is closed', async () => {
    const [first] = await chainOf(1);
    let closed = false;
    async function* stream() {
      try {
        for (;;) yield first as AuditEntry;
      } finally {
        closed = true;
      }
    }
    expect(await verifyAudit(ann, stream())).toMatchObject({ reason: 'added' });
    expect(closed).toBe(true);
  });

  test('of any chain and any one change, the place is found, and never later', async () => {
    const chain = await chainOf(8);
    const head = headOf(chain[7] as AuditEntry);
    const at = fc.nat({ max: 7 });
    const change = fc.oneof(
      fc.record({
        kind: fc.constant('change' as const),
        at,
        key: fc.constantFrom('event', 'at', 'by', 'id', 'seq', 'previous', 'hash', 'x'),
        to: fc.jsonValue(),
      }),
      fc.record({ kind: fc.constant('remove' as const), at }),
      fc.record({ kind: fc.constant('move' as const), at, to: at }),
      fc.record({ kind: fc.constant('copy' as const), at, to: at }),
      fc.record({ kind: fc.constant('line' as const), at, line: fc.string() }),
    );
    await fc.assert(
      fc.asyncProperty(change, async (told) => {
        const entries: (AuditEntry | string)[] = [...chain];
        const one = chain[told.at] as AuditEntry;
        let first = told.at + 1;
        if (told.kind === 'change') {
          fc.pre(JSON.stringify((one as never)[told.key]) !== JSON.stringify(told.to));
          entries[told.at] = { ...one, [told.key]: told.to } as AuditEntry;
        } else if (told.kind === 'remove') entries.splice(told.at, 1);
        else if (told.kind === 'move') {
          fc.pre(told.at !== told.to);
          entries.splice(told.at, 1);
          entries.splice(told.to, 0, one);
          first = Math.min(told.at, told.to) + 1;
        } else if (told.kind === 'copy') {
          entries.splice(told.to, 0, one);
          first = Math.min(told.at + 1, told.to + 1);
        } else {
          fc.pre(told.line.trim() !== '');
          entries[told.at] = told.line;
        }
        const verdict = await verifyAudit(ann, entries, { head });
        expect(verdict.ok).toBe(false);
        if (!verdict.ok) expect(verdict.seq).toBeLessThanOrEqual(first);
        // And all before it holds.
        if (!verdict.ok) expect(await found(entries.slice(0, verdict.seq - 1))).toBe('ok');
      }),
      { numRuns: 300 },
    );
  });
});

describe('a line', () => {
  test('that is none is refused, and nothing of it is repeated', async () => {
    const [entry] = await chainOf(1);
    const line = JSON.stringify(entry);
    const others = [
      '',
      '{}',
      'null',
      '[]',
      '"secret"',
      line.slice(0, -1),
      `${line}${line}`,
      line.replace('{', '{"seq":1,'),
      line.replace('{', '{"__proto__":{},'),
      `${line.slice(0, -1)},"x":"${'secret'.repeat(200_000)}"}`,
      line.replace(/"aud_[^"]*"/, '"secret"'),
    ];
    for (const other of others) {
      expect(() => parseAuditLine(other)).toThrow(
        expect.objectContaining({ code: 'audit_invalid', message: expect.not.stringContaining('secret') }),
      );
    }
  });

  test('C79: nests as deep as arguments may, and no deeper', async () => {
    let args: Json = {};
    for (let n = 0; n < 63; n += 1) args = { a: args };
    const [entry] = await chainOf(1, { arguments: args as never });
    expect(await found([JSON.stringify(entry)])).toBe('ok');
    const deep = `{"id":"${entry?.id}","seq":1,"previous":"","hash":"","arguments":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    expect(await found([deep])).toBe('changed 1');
  });
});
