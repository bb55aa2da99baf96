import type { SkillDocument, SkillDocumentV2, SkillTool } from './document.ts';
import { sha256 } from './sha256.ts';

/**
 * The canonical JSON of a document, over which its integrity hash is taken: the contract's own fields in the
 * contract's order, absent and empty optional fields left out, `created_at` and `integrity` not in it.
 */
export function canonicalDocument(document: SkillDocument): string {
  return JSON.stringify({
    skill: document.skill,
    slug: document.slug,
    name: document.name,
    description: document.description,
    version: document.version,
    instructions: document.instructions,
    resources: nonEmpty(
      document.resources?.map(({ path, media_type, text }) => ({ path, media_type, text })),
    ),
    tools: nonEmpty((document as SkillDocumentV2).tools?.map(canonicalTool)),
    requires: canonicalRequires(document.requires),
    runs: document.runs,
    license: document.license,
    author: document.author && { subject: document.author.subject, name: document.author.name },
  });
}

/** The sha256 of {@link canonicalDocument}, as `integrity.hash` must state it. */
export function hashDocument(document: SkillDocument): Promise<string> {
  return sha256(canonicalDocument(document));
}

function canonicalTool({ name, description, language, entry, args, net, limits }: SkillTool) {
  return {
    name,
    description,
    language,
    entry,
    args,
    net,
    limits: nonEmpty(limits && { wall_ms: limits.wall_ms, mem_bytes: limits.mem_bytes }),
  };
}

function canonicalRequires(requires: SkillDocument['requires']) {
  return nonEmpty(
    requires && {
      kinds: nonEmpty(requires.kinds),
      apps: nonEmpty(requires.apps),
      hosts: nonEmpty(requires.hosts),
    },
  );
}

// JSON.stringify leaves a member out whose value is undefined.
function nonEmpty<T extends object>(value: T | undefined): T | undefined {
  if (value === undefined) return undefined;
  return Object.values(value).some((member) => member !== undefined) ? value : undefined;
}
