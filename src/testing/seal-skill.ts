import { hashDocument } from '../skill/canonical.ts';
import type { SkillDocument, SkillDocumentV1, SkillDocumentV2 } from '../skill/document.ts';
import { parseListing, type SkillListing } from '../skill/listing.ts';
import { parseSkill } from '../skill/parse.ts';
import { sha256 } from '../skill/sha256.ts';

/** A skill as its author would publish it, before it has its hash. */
export type UnsealedSkill = Omit<SkillDocumentV1, 'integrity'> | Omit<SkillDocumentV2, 'integrity'>;

/** A document with its true hash, and the clean listing that a registry would give it. */
export interface SealedSkill {
  readonly document: SkillDocument;
  readonly listing: SkillListing;
}

/**
 * Gives a document its own integrity hash and a listing that pins its code, as publishing would. For tests: no
 * registry has scanned it.
 *
 * @throws `skill_invalid` when the document breaks a rule of the contract
 */
export async function sealSkill(skill: UnsealedSkill): Promise<SealedSkill> {
  const hash = await hashDocument(skill as SkillDocument);
  const document = await parseSkill({ ...skill, integrity: { alg: 'sha256', hash } });
  return { document, listing: await listingOf(document) };
}

/** The clean listing of a document; its media ids are made from its hash. */
export async function listingOf(document: SkillDocument): Promise<SkillListing> {
  const { slug, version, integrity } = document;
  const code = (document.resources ?? []).filter((resource) => resource.path.endsWith('.js'));
  const pins = await Promise.all(
    code.map(async (resource, index) => ({
      name: resource.path,
      media_id: `med_${integrity.hash.slice(0, 24).toUpperCase()}${String(index).padStart(2, '0')}`,
      sha256: await sha256(resource.text),
    })),
  );
  return parseListing({
    listing: document.skill === 'actor.skill@1' ? 'actor.skill-listing@1' : 'actor.skill-listing@2',
    slug,
    version,
    integrity,
    ...(pins.length > 0 && { code: pins }),
    scan: { verdict: 'clean', findings: [] },
    status: 'listed',
  });
}
