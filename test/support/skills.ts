import { readdirSync, readFileSync } from 'node:fs';
import { hashDocument } from '../../src/skill/canonical.ts';
import type { SkillDocument, SkillDocumentV2 } from '../../src/skill/document.ts';
import { sha256 } from '../../src/skill/sha256.ts';
import type { InstalledSkill } from '../../src/skill/verify.ts';

const folder = new URL('../fixtures/skills/', import.meta.url);

/** The contract's own fixtures of one kind, by name. */
export function contractFixtures(kind: 'valid' | 'rejected'): [name: string, document: SkillDocument][] {
  return readdirSync(new URL(`${kind}/`, folder))
    .sort()
    .map((file) => [file.replace('.json', ''), fixture(kind, file.replace('.json', ''))]);
}

export function fixture(kind: 'valid' | 'rejected', name: string): SkillDocument {
  return JSON.parse(readFileSync(new URL(`${kind}/${name}.json`, folder), 'utf8')) as SkillDocument;
}

/** What a test may change in a skill made from `slugify-a-title`. */
export interface SkillChange {
  document?: Partial<SkillDocumentV2> | ((document: SkillDocumentV2) => void);
  listing?: Record<string, unknown>;
}

/** A sandbox skill with a true hash and true pins, made from the contract's own `sandbox-deny`. */
export async function makeSkill(
  change: SkillChange = {},
): Promise<{ document: SkillDocumentV2; listing: Record<string, unknown> }> {
  const document = structuredClone(fixture('valid', 'sandbox-deny')) as SkillDocumentV2;
  if (typeof change.document === 'function') change.document(document);
  else Object.assign(document, change.document);
  document.integrity = { alg: 'sha256', hash: await hashDocument(document) };
  return { document, listing: { ...(await listingOf(document)), ...change.listing } };
}

/** A clean listing that pins exactly the document's code. */
export async function listingOf(document: SkillDocument): Promise<Record<string, unknown>> {
  const code = (document.resources ?? []).filter((resource) => resource.path.endsWith('.js'));
  const pins = await Promise.all(
    code.map(async (resource, index) => ({
      name: resource.path,
      media_id: `med_${mediaDigits(document.integrity.hash, index)}`,
      sha256: await sha256(resource.text),
    })),
  );
  return {
    listing: document.skill === 'actor.skill@1' ? 'actor.skill-listing@1' : 'actor.skill-listing@2',
    slug: document.slug,
    version: document.version,
    integrity: document.integrity,
    ...(pins.length > 0 && { code: pins }),
    scan: { verdict: 'clean', findings: [] },
    status: 'listed',
  };
}

function mediaDigits(hash: string, index: number): string {
  return `${hash.slice(0, 24)}${String(index).padStart(2, '0')}`.toUpperCase();
}

/** The contract's two sandbox skills as installed. */
export async function seedSkills(): Promise<InstalledSkill[]> {
  const documents = ['sandbox-deny', 'sandbox-public'].map((name) => fixture('valid', name));
  return Promise.all(documents.map(async (document) => ({ document, listing: await listingOf(document) })));
}
