import { describe, expect, test } from 'vitest';
import type { SkillDocumentV2 } from '../../src/skill/document.ts';
import { acknowledgementOf, parseListing, strictVerdict } from '../../src/skill/listing.ts';
import { checkPins } from '../../src/skill/pins.ts';
import { verifySkill } from '../../src/skill/verify.ts';
import { fixture, listingOf, makeSkill } from '../support/skills.ts';

type Code = { name: string; media_id: string; sha256: string }[];

async function reasonOf(installed: { document: unknown; listing: unknown; acknowledged?: string }) {
  const result = await verifySkill(installed);
  return result.ok ? 'verified' : result.problem.reason;
}

describe('pins', () => {
  test('C106: the listing pins exactly the code resources, each by the document’s own bytes', async () => {
    const { document, listing } = await makeSkill();
    expect(await reasonOf({ document, listing })).toBe('verified');
    const code = listing.code as Code;
    const [pin] = code as [Code[number]];
    const others: [string, unknown][] = [
      ['no code', undefined],
      ['empty code', []],
      ['other bytes', [{ ...pin, sha256: 'a'.repeat(64) }]],
      ['another name', [{ ...pin, name: 'other.js' }]],
      ['one more', [pin, { ...pin, name: 'other.js' }]],
      ['twice', [pin, pin]],
    ];
    for (const [what, changed] of others) {
      const { code: _, ...rest } = listing;
      const reason = await reasonOf({
        document,
        listing: changed === undefined ? rest : { ...rest, code: changed },
      });
      expect([what, reason]).toEqual([what, 'listing_mismatch']);
    }
  });

  test('a listing of another slug, version or content is refused', async () => {
    const { document, listing } = await makeSkill();
    for (const change of [
      { slug: 'other' },
      { version: '1.0.1' },
      { integrity: { alg: 'sha256', hash: 'b'.repeat(64) } },
    ]) {
      expect(await reasonOf({ document, listing: { ...listing, ...change } })).toBe('listing_mismatch');
    }
  });

  test('a sandbox skill with a listing of version 1, which has no code, is refused', async () => {
    const { document, listing } = await makeSkill();
    const { code: _, ...rest } = listing;
    expect(await reasonOf({ document, listing: { ...rest, listing: 'actor.skill-listing@1' } })).toBe(
      'listing_mismatch',
    );
  });

  test('a path becomes a job input name that can be turned back; one that is too long is a problem', async () => {
    const long = `${'a'.repeat(60)}/${'b'.repeat(60)}/${'c'.repeat(20)}.js`;
    const withCode = (path: string) => (d: SkillDocumentV2) => {
      d.resources?.push({ path, media_type: 'text/javascript', text: 'module.exports = 1;' });
    };
    const good = await makeSkill({ document: withCode('lib/text.js') });
    const pinned = await checkPins(good.document, parseListing(good.listing));
    expect(pinned.ok && pinned.pins.map((pin) => pin.name)).toEqual(['slugify.js', 'lib.text.js']);
    const bad = await makeSkill({ document: withCode(long) });
    const refused = await checkPins(bad.document, parseListing(bad.listing));
    expect(refused.ok ? [] : refused.issues.map((issue) => issue.rule)).toEqual(['input-name-length']);
  });
});

describe('the scan', () => {
  const finding = { rule: 'network', severity: 'flag', message: 'Uses the network.', tool: 'slugify' };

  test('failed never, retired never', async () => {
    const { document, listing } = await makeSkill();
    const failed = { ...listing, scan: { verdict: 'failed', findings: [] } };
    expect(await reasonOf({ document, listing: failed, acknowledged: await acknowledgementOf(failed) })).toBe(
      'scan_failed',
    );
    expect(await reasonOf({ document, listing: { ...listing, status: 'retired' } })).toBe('retired');
  });

  test('flagged only with an acknowledgement of exactly these findings and bytes', async () => {
    const { document, listing } = await makeSkill();
    const flagged = { ...listing, scan: { verdict: 'flagged', findings: [finding] } };
    const acknowledged = await acknowledgementOf(flagged);
    expect(await reasonOf({ document, listing: flagged })).toBe('scan_unread');
    expect(await reasonOf({ document, listing: flagged, acknowledged })).toBe('verified');
    const more = { ...flagged, scan: { verdict: 'flagged', findings: [finding, { ...finding, line: 3 }] } };
    expect(await reasonOf({ document, listing: more, acknowledged })).toBe('scan_unread');
    const other = await makeSkill({ document: { instructions: 'Other.' } });
    const otherListing = { ...other.listing, scan: flagged.scan };
    expect(await reasonOf({ document: other.document, listing: otherListing, acknowledged })).toBe(
      'scan_unread',
    );
  });

  test('where verdict and findings differ, the stricter stands', async () => {
    const { listing } = await makeSkill();
    const of = (verdict: string, severity?: string) =>
      strictVerdict(
        parseListing({ ...listing, scan: { verdict, findings: severity ? [{ ...finding, severity }] : [] } }),
      );
    expect(of('clean', 'fail')).toBe('failed');
    expect(of('flagged', 'fail')).toBe('failed');
    expect(of('clean', 'flag')).toBe('flagged');
    expect(of('failed', 'flag')).toBe('failed');
    expect(of('flagged')).toBe('flagged');
    expect(of('clean')).toBe('clean');
  });
});

describe('one bad skill', () => {
  test('C72: what a stranger wrote never throws, it is a problem', async () => {
    const { document, listing } = await makeSkill();
    for (const wrong of [null, 5, 'x', {}, { ...document, slug: 'B' }]) {
      expect(await reasonOf({ document: wrong, listing })).toBe('invalid_document');
    }
    for (const wrong of [
      null,
      5,
      'x',
      {},
      { ...listing, more: 1 },
      { ...listing, scan: { verdict: 'good', findings: [] } },
    ]) {
      expect(await reasonOf({ document, listing: wrong })).toBe('invalid_listing');
    }
  });

  test('C79: a pattern that the linear engine does not take leaves the skill out, with the pattern quoted', async () => {
    const { document, listing } = await makeSkill({
      document: (d) => {
        Object.assign(d.tools?.[0] ?? {}, {
          args: { type: 'object', properties: { title: { type: 'string', pattern: '(?<!x)y' } } },
        });
      },
    });
    const result = await verifySkill({ document, listing });
    expect(result.ok).toBe(false);
    expect(result.ok ? '' : result.problem.message).toContain('(?<!x)y');
  });

  test('a prompt skill is verified without code', async () => {
    const document = fixture('valid', 'changelog');
    expect(await reasonOf({ document, listing: await listingOf(document) })).toBe('verified');
  });
});
