import { describe, expect, test } from 'vitest';
import { canonicalDocument, hashDocument } from '../../src/skill/canonical.ts';
import type { SkillDocumentV2 } from '../../src/skill/document.ts';
import { SkillInvalid } from '../../src/skill/issue.ts';
import { maxDocumentLength, parseSkill } from '../../src/skill/parse.ts';
import { contractFixtures, fixture, makeSkill } from '../support/skills.ts';

/** The issues of a document that must not be taken, as `path rule`. */
async function issuesOf(input: unknown): Promise<string[]> {
  const error = await parseSkill(input).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SkillInvalid);
  return (error as SkillInvalid).issues.map(({ path, rule }) => `${path} ${rule}`);
}

describe('the contract’s own fixtures', () => {
  test.each(contractFixtures('valid'))(
    'C106: %s is valid, and its hash is of its own canonical JSON',
    async (_, document) => {
      await expect(parseSkill(document)).resolves.toEqual(document);
      await expect(parseSkill(JSON.stringify(document))).resolves.toEqual(document);
    },
  );

  // Each rejected fixture must fail for the reason in its name.
  test.each([
    [
      'binary-code-resource',
      ['/resources/0/path pattern', '/resources/0/media_type allowed-value', '/tools/0/entry pattern'],
    ],
    ['binary-resource', ['/resources/0/path pattern', '/resources/0/media_type allowed-value']],
    ['entry-no-resource', ['/tools/0/entry entry-is-code-resource']],
    ['language-python', ['/tools/0/language allowed-value']],
    ['path-escape', ['/resources/0/path pattern']],
    ['runs-code', ['/runs allowed-value']],
    ['script-field', ['/script unknown-field']],
    ['six-tools', ['/tools maximum']],
    [
      'tools-with-prompt',
      [
        '/tools tools-exactly-when-sandbox',
        '/requires/kinds skill-run-exactly-when-sandbox',
        '/resources/0/path code-only-in-sandbox',
      ],
    ],
    ['unknown-kind', ['/requires/kinds/0 allowed-value']],
    ['wall-too-long', ['/tools/0/limits/wall_ms maximum']],
  ])('%s is rejected for its reason', async (name, expected) => {
    expect((await issuesOf(fixture('rejected', name))).sort()).toEqual(expected.sort());
  });

  test('every rejected fixture is covered', () => {
    expect(contractFixtures('rejected')).toHaveLength(11);
    expect(contractFixtures('valid')).toHaveLength(5);
  });
});

describe('the integrity hash', () => {
  test('C106: key order, white space and created_at do not change it; content does', async () => {
    const { document } = await makeSkill();
    const reversed = Object.fromEntries(Object.entries(document).reverse());
    await expect(parseSkill(JSON.stringify(reversed, null, 4))).resolves.toBeDefined();
    await expect(parseSkill({ ...document, created_at: '2026-01-01T00:00:00Z' })).resolves.toBeDefined();
    for (const change of [
      { instructions: `${document.instructions}\n` },
      { instructions: `${document.instructions}\r\n` },
      { description: `${document.description} ` },
      { version: '1.0.1' },
      { license: 'MIT-0' },
    ]) {
      expect(await issuesOf({ ...document, ...change })).toEqual(['/integrity/hash integrity-mismatch']);
    }
  });

  test.each([
    ['2026-11-08T01:00:00.000Z', true],
    ['2026-11-08t01:00:00z', true],
    ['2026-12-31T23:59:60Z', true],
    ['2024-02-29T00:00:00+23:59', true],
    ['2026-02-29T00:00:00Z', false],
    ['2026-13-01T00:00:00Z', false],
    ['2026-11-08T24:00:00Z', false],
    ['2026-11-08T01:00:00', false],
    ['2026-11-08', false],
    ['', false],
  ])('created_at %j', async (created_at, valid) => {
    const { document } = await makeSkill();
    if (valid) await expect(parseSkill({ ...document, created_at })).resolves.toBeDefined();
    else expect(await issuesOf({ ...document, created_at })).toEqual(['/created_at pattern']);
  });

  test('an edited code byte and an edited net no longer match', async () => {
    const { document } = await makeSkill();
    const code = structuredClone(document);
    if (code.resources?.[0]) code.resources[0].text += ' ';
    const net = structuredClone(document);
    if (net.tools?.[0]) net.tools[0].net = 'public';
    expect(await issuesOf(code)).toEqual(['/integrity/hash integrity-mismatch']);
    expect(await issuesOf(net)).toEqual(['/integrity/hash integrity-mismatch']);
  });

  test('absent and empty optional fields have one canonical text', async () => {
    const { document } = await makeSkill();
    const empty = structuredClone(document) as SkillDocumentV2;
    if (empty.requires) Object.assign(empty.requires, { apps: [], hosts: [] });
    if (empty.tools?.[0]) empty.tools[0].limits = {};
    expect(canonicalDocument(empty)).toBe(canonicalDocument(document));
    expect(await hashDocument(empty)).toBe(document.integrity.hash);
    expect(canonicalDocument(document)).not.toMatch(/created_at|integrity/);
  });
});

describe('cross-field rules', () => {
  const changed = (change: (document: SkillDocumentV2) => void) => async () =>
    (await makeSkill({ document: change })).document;
  test.each<[string, (document: SkillDocumentV2) => void, string[]]>([
    ['a sandbox skill without tools', (d) => delete d.tools, ['/tools tools-exactly-when-sandbox']],
    [
      'a sandbox skill that does not name skill.run',
      (d) => Object.assign(d, { requires: { kinds: ['send'] } }),
      ['/requires/kinds skill-run-exactly-when-sandbox'],
    ],
    [
      'a .js resource of another media type',
      (d) => Object.assign(d.resources?.[0] ?? {}, { media_type: 'text/plain' }),
      ['/resources/0/media_type code-media-type'],
    ],
    [
      'text/javascript that is not .js',
      (d) => d.resources?.push({ path: 'x.md', media_type: 'text/javascript', text: '' }),
      ['/resources/1/media_type code-media-type'],
    ],
    [
      'two resources of one path',
      (d) => d.resources?.push({ ...(d.resources[0] as NonNullable<SkillDocumentV2['resources']>[number]) }),
      ['/resources/1/path duplicate-path'],
    ],
    [
      'two tools of one name',
      (d) => d.tools?.push({ ...(d.tools[0] as NonNullable<SkillDocumentV2['tools']>[number]) }),
      ['/tools/1/name duplicate-tool'],
    ],
    [
      'code over 64 KiB in bytes',
      (d) => Object.assign(d.resources?.[0] ?? {}, { text: '//é'.padEnd(65_536, 'é') }),
      ['/resources/0/text resource-size'],
    ],
    [
      'text over 20000 characters',
      (d) => d.resources?.push({ path: 'x.md', media_type: 'text/markdown', text: 'x'.repeat(20_001) }),
      ['/resources/1/text resource-size'],
    ],
    [
      'a wrong args schema',
      (d) => Object.assign(d.tools?.[0] ?? {}, { args: { type: 'object', $ref: '#' } }),
      ['/tools/0/args/$ref unknown-keyword'],
    ],
  ])('%s is refused', async (_, change, expected) => {
    expect(await issuesOf(await changed(change)())).toEqual(expected);
  });

  test('code of exactly 64 KiB and text of exactly 20000 characters are taken', async () => {
    const { document } = await makeSkill({
      document: (d) => {
        d.resources = [
          { path: 'slugify.js', media_type: 'text/javascript', text: 'x'.repeat(65_536) },
          { path: 'x.md', media_type: 'text/markdown', text: '😀'.repeat(16_384) },
          { path: 'y.md', media_type: 'text/markdown', text: 'y'.repeat(20_000) },
        ];
      },
    });
    await expect(parseSkill(document)).resolves.toBeDefined();
  });
});

describe('hostile documents', () => {
  test('keys that reach a prototype are refused at any depth', async () => {
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      const text = JSON.stringify((await makeSkill()).document).replace('"title":', `"${key}":`);
      expect(await issuesOf(text)).toEqual([' forbidden-key']);
    }
  });

  test('a text over the bound is refused before it is parsed', async () => {
    expect(await issuesOf(' '.repeat(maxDocumentLength + 1))).toEqual([' too-long']);
  });

  test('what is not a document at all is refused by name', async () => {
    for (const input of [undefined, null, 5, 'x', '', [], {}, Symbol('x'), 10n, () => {}]) {
      expect((await issuesOf(input)).length).toBeGreaterThan(0);
    }
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    expect(await issuesOf(cyclic)).toEqual([' not-json']);
  });

  test('a key that stands twice is refused: two readers could see two documents', async () => {
    const text = JSON.stringify((await makeSkill()).document).replace(
      '"version":',
      '"version":"9.9.9","version":',
    );
    expect(await issuesOf(text)).toEqual([' duplicate-key']);
  });

  test('an issue names an unknown field with its invisible characters made visible', async () => {
    const { document } = await makeSkill();
    const error = await parseSkill({ ...document, 'a\u202eb': 1 }).catch((reason: SkillInvalid) => reason);
    expect((error as SkillInvalid).issues[0]?.message).toContain('"a\\u{202e}b"');
  });

  test('the parsed document is frozen through and through', async () => {
    const parsed = (await parseSkill((await makeSkill()).document)) as SkillDocumentV2;
    expect(Object.isFrozen(parsed.tools?.[0]?.args)).toBe(true);
    expect(Object.isFrozen(parsed.resources?.[0])).toBe(true);
  });
});
