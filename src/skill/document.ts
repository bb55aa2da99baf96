import type { Net } from './caps.ts';
import type { Json } from './json.ts';

// Skill documents as their authors write them: defaults are not filled in. The bounds are in document-schema.ts.

interface DocumentBase {
  /** Its name in the registry: 1 to 64 lower-case letters, digits and hyphens. */
  slug: string;
  /** What a person reads on its card, 1 to 80 characters. */
  name: string;
  /** When to use it, 1 to 280 characters. */
  description: string;
  /** `major.minor.patch`. */
  version: string;
  /** Markdown, 1 to 20000 characters: guidance that grants nothing. */
  instructions: string;
  requires?: SkillRequirements | undefined;
  /** An SPDX licence id. */
  license?: string | undefined;
  /** Who the document says wrote it: a claim. */
  author?: { subject: string; name?: string | undefined } | undefined;
  /** RFC 3339; not hashed. */
  created_at?: string | undefined;
  /** sha256 over the canonical JSON, 64 lower-case hex digits. */
  integrity: { alg: 'sha256'; hash: string };
}

/** What a skill may ask an agent to do. It grants nothing. */
export interface SkillRequirements {
  /** Kinds of act, such as `skill.run`. */
  kinds?: string[] | undefined;
  /** Connected apps. */
  apps?: string[] | undefined;
  /** Web hosts. */
  hosts?: string[] | undefined;
}

/** `actor.skill@1`: instructions and text. */
export interface SkillDocumentV1 extends DocumentBase {
  skill: 'actor.skill@1';
  resources?: SkillResource[] | undefined;
  runs: 'prompt';
}

/** `actor.skill@2`: as @1, or with code that runs in a sandbox. */
export interface SkillDocumentV2 extends DocumentBase {
  skill: 'actor.skill@2';
  resources?: SkillResource[] | undefined;
  /** 1 to 5, exactly when `runs` is `sandbox`. */
  tools?: SkillTool[] | undefined;
  runs: 'prompt' | 'sandbox';
}

/** Text that belongs to a skill. A `.js` one is code. */
export interface SkillResource {
  /** A relative path without `..`, ending in `.md`, `.txt`, `.json`, `.csv` or (only @2) `.js`. */
  path: string;
  /** `text/javascript` exactly for `.js`. */
  media_type: 'text/markdown' | 'text/plain' | 'application/json' | 'text/csv' | 'text/javascript';
  /** At most 64 KiB; at most 20000 characters where it is not code. */
  text: string;
}

/** One tool of a sandbox skill. */
export interface SkillTool {
  /** `^[a-z][a-z0-9_]{0,31}$`. */
  name: string;
  /** 1 to 200 characters. */
  description: string;
  language: 'javascript';
  /** The path of one of the skill's own `.js` resources. */
  entry: string;
  /** Its input as a JSON Schema subset. */
  args: Json;
  /** Default `deny`. */
  net?: Net | undefined;
  /** Defaults 10000 ms and 134217728 bytes. */
  limits?: { wall_ms?: number | undefined; mem_bytes?: number | undefined } | undefined;
}

/** A skill document, of either version. */
export type SkillDocument = SkillDocumentV1 | SkillDocumentV2;
