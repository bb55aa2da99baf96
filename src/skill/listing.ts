import * as z from 'zod/mini';
import { hash, integrity, mediaId, resourcePath, slug, text, toolName, userId, version } from './fields.ts';
import { SkillInvalid } from './issue.ts';
import { canonicalJson, deepFreeze, type Json } from './json.ts';
import { readUntrusted } from './parse.ts';
import { sha256 } from './sha256.ts';
import { fromZodIssues } from './zod-issues.ts';

// Ours, from ADR-060: the registry publishes no schema of a listing yet. This file is the one to change.

/** What the registry says of one skill version: who published it, what its scan found, which code it pins. */
export type SkillListing = {
  slug: string;
  version: string;
  /** The document's own. */
  integrity: { alg: 'sha256'; hash: string };
  publisher?: { subject: string; name?: string | undefined } | undefined;
  scan: { verdict: Verdict; findings: ScanFinding[] };
  status: 'listed' | 'retired';
} & (
  | { listing: 'actor.skill-listing@1' }
  | {
      listing: 'actor.skill-listing@2';
      /** Each code resource of the document, by its path. */
      code?: { name: string; media_id: string; sha256: string }[] | undefined;
    }
);

/** One thing the registry's scan found. The texts are the registry's. */
export interface ScanFinding {
  rule: string;
  severity: 'fail' | 'flag';
  message: string;
  /** The tool that it is about, where it is about one. */
  tool?: string | undefined;
  path?: string | undefined;
  /** From 1. */
  line?: number | undefined;
}

/** The scan's verdict. */
export type Verdict = 'clean' | 'flagged' | 'failed';

const finding = z.strictObject({
  rule: text(1, 80),
  severity: z.enum(['fail', 'flag']),
  message: text(1, 1000),
  tool: z.optional(toolName),
  path: z.optional(resourcePath(['md', 'txt', 'json', 'csv', 'js'])),
  line: z.optional(z.int().check(z.gte(1))),
});

const common = {
  slug,
  version,
  integrity,
  publisher: z.optional(z.strictObject({ subject: userId, name: z.optional(text(1, 80)) })),
  scan: z.strictObject({
    verdict: z.enum(['clean', 'flagged', 'failed']),
    findings: z.array(finding).check(z.maxLength(500)),
  }),
  status: z.enum(['listed', 'retired']),
};

const listingSchema: z.ZodMiniType<SkillListing> = z.discriminatedUnion('listing', [
  z.strictObject({ listing: z.literal('actor.skill-listing@1'), ...common }),
  z.strictObject({
    listing: z.literal('actor.skill-listing@2'),
    ...common,
    code: z.optional(
      z
        .array(z.strictObject({ name: resourcePath(['js']), media_id: mediaId, sha256: hash }))
        .check(z.maxLength(10)),
    ),
  }),
]);

/** The longest listing that is read, in UTF-16 code units. */
export const maxListingLength = 2_000_000;

/**
 * Reads a listing (`actor.skill-listing@1` or `@2`).
 *
 * @throws {@link SkillInvalid} with every broken rule
 */
export function parseListing(input: unknown): SkillListing {
  const value = readUntrusted('The skill listing', input, maxListingLength);
  const parsed = listingSchema.safeParse(value);
  if (!parsed.success) throw new SkillInvalid('The skill listing', fromZodIssues(parsed.error.issues));
  return deepFreeze(parsed.data);
}

/** The verdict that stands: the stricter of what the listing says and what its own findings say. */
export function strictVerdict(listing: SkillListing): Verdict {
  const { verdict, findings } = listing.scan;
  if (verdict === 'failed' || findings.some((found) => found.severity === 'fail')) return 'failed';
  return verdict === 'flagged' || findings.length > 0 ? 'flagged' : 'clean';
}

/**
 * What a person acknowledges when he installs a flagged skill: a sha256 over exactly these findings and
 * exactly these bytes. Keep it with the installed skill, and pass it as `acknowledged`.
 *
 * @param listing a listing, or its JSON text
 * @throws {@link SkillInvalid} when the listing is invalid
 */
export async function acknowledgementOf(listing: unknown): Promise<string> {
  const { slug, version, integrity, scan, ...rest } = parseListing(listing);
  const code = 'code' in rest ? (rest.code ?? []) : [];
  return sha256(
    canonicalJson({
      acknowledges: 'skill-findings@1',
      slug,
      version,
      hash: integrity.hash,
      verdict: scan.verdict,
      findings: scan.findings.map((found) => canonicalJson({ ...found } as Json)).sort(),
      code: code.map(({ name, sha256: pin }) => canonicalJson({ name, sha256: pin })).sort(),
    }),
  );
}
