import { readdirSync, readFileSync } from 'node:fs';
import { hashDocument } from '../../src/skill/canonical.ts';
import type { SkillDocument, SkillDocumentV2 } from '../../src/skill/document.ts';
import type { InstalledSkill } from '../../src/skill/verify.ts';
import { listingOf } from '../../src/testing/seal-skill.ts';

export { listingOf };

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

/** The contract's two sandbox skills as installed. */
export async function seedSkills(): Promise<InstalledSkill[]> {
  const documents = ['sandbox-deny', 'sandbox-public'].map((name) => fixture('valid', name));
  return Promise.all(documents.map(async (document) => ({ document, listing: await listingOf(document) })));
}
