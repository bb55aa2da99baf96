import type { SkillDocument } from './document.ts';
import { quoteName, type SkillIssue } from './issue.ts';
import type { SkillListing } from './listing.ts';
import { sha256, utf8 } from './sha256.ts';

/** One code resource of a skill, pinned by the listing and equal to the document's own bytes. */
export interface CodePin {
  /** The resource's path, such as `lib/text.js`. */
  readonly path: string;
  /** The job input's file name: the path with `/` as `.`, which is reversible. */
  readonly name: string;
  readonly mediaId: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
  /** UTF-8 text of the resource. */
  readonly text: string;
}

/** The code a skill brings, in the order of its document, or every way in which the listing does not pin it. */
export type PinResult = { ok: true; pins: readonly CodePin[] } | { ok: false; issues: readonly SkillIssue[] };

const maxInputName = 128;

/** Checks that a listing is about this document and pins exactly its code resources, each by its own bytes. */
export async function checkPins(document: SkillDocument, listing: SkillListing): Promise<PinResult> {
  const issues: SkillIssue[] = identityIssues(document, listing);
  const pins: CodePin[] = [];
  const listed = 'code' in listing ? (listing.code ?? []) : [];
  const resources = (document.resources ?? []).filter((resource) => resource.path.endsWith('.js'));
  const paths = new Set(resources.map((resource) => resource.path));
  listed.forEach((entry, index) => {
    if (!paths.has(entry.name) || listed.findIndex((other) => other.name === entry.name) !== index) {
      issues.push(
        pinIssue(
          index,
          `Pins ${quoteName(entry.name)}, which is not exactly one of the skill's code resources.`,
        ),
      );
    }
  });
  for (const resource of resources) {
    const index = listed.findIndex((entry) => entry.name === resource.path);
    const pin = listed[index];
    const bytes = utf8(resource.text);
    const own = await sha256(bytes);
    const name = resource.path.replaceAll('/', '.');
    if (pin === undefined) {
      issues.push(pinIssue(undefined, `Does not pin the code resource ${quoteName(resource.path)}.`));
    } else if (pin.sha256 !== own) {
      issues.push(
        pinIssue(index, `Pins other bytes of ${quoteName(resource.path)} than the document holds.`),
      );
    } else if (name.length > maxInputName) {
      issues.push({
        path: '/resources',
        rule: 'input-name-length',
        message: `The path ${quoteName(resource.path)} is too long to be a job input (at most ${maxInputName} characters).`,
      });
    } else {
      pins.push({
        path: resource.path,
        name,
        mediaId: pin.media_id,
        sha256: own,
        size: bytes.length,
        text: resource.text,
      });
    }
  }
  return issues.length > 0 ? { ok: false, issues } : { ok: true, pins };
}

function identityIssues(document: SkillDocument, listing: SkillListing): SkillIssue[] {
  const issues: SkillIssue[] = [];
  const differs = (path: string, message: string) => issues.push({ path, rule: 'listing-of-other', message });
  if (listing.slug !== document.slug) differs('/slug', 'The listing is of another skill than the document.');
  if (listing.version !== document.version)
    differs('/version', 'The listing is of another version than the document.');
  if (listing.integrity.hash !== document.integrity.hash) {
    differs('/integrity/hash', 'The listing is of other bytes than the document.');
  }
  return issues;
}

function pinIssue(index: number | undefined, message: string): SkillIssue {
  return { path: index === undefined ? '/code' : `/code/${index}`, rule: 'code-pin', message };
}
