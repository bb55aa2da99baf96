import { isSkillRunError } from '../errors.ts';
import { type ArgsValidator, compileArgs } from './args/compile.ts';
import { parseArgsSchema } from './args/meta.ts';
import { defaultLimits, type Limits, type Net } from './caps.ts';
import type { SkillDocument } from './document.ts';
import { slug, version } from './fields.ts';
import { SkillInvalid, type SkillIssue } from './issue.ts';
import { type Json, parseJson } from './json.ts';
import {
  acknowledgementOf,
  parseListing,
  type ScanFinding,
  type SkillListing,
  strictVerdict,
} from './listing.ts';
import { maxDocumentLength, parseSkill } from './parse.ts';
import { type CodePin, checkPins } from './pins.ts';

/** A skill as the host has it installed. */
export interface InstalledSkill {
  /** The document, as JSON text or as a value. */
  readonly document: unknown;
  /** The registry's listing of exactly this version, as JSON text or as a value. */
  readonly listing: unknown;
  /** What `acknowledgementOf` gave when the person read the findings; only a flagged skill needs it. */
  readonly acknowledged?: string | undefined;
}

/** One tool of a verified skill, with the contract's defaults filled in. */
export interface VerifiedTool {
  readonly name: string;
  readonly description: string;
  readonly entry: string;
  /** The args schema as the author wrote it. */
  readonly args: Json;
  readonly validator: ArgsValidator;
  readonly net: Net;
  readonly limits: Limits;
}

/** A skill whose document, listing, pins and scan all hold. */
export interface VerifiedSkill {
  readonly document: SkillDocument;
  readonly listing: SkillListing;
  readonly slug: string;
  readonly version: string;
  /** The document's own sha256. */
  readonly hash: string;
  readonly findings: readonly ScanFinding[];
  /** Empty for a prompt skill. */
  readonly tools: readonly VerifiedTool[];
  readonly pins: readonly CodePin[];
}

/** Why an installed skill, or one tool of it, is not in the menu. */
export type ProblemReason =
  | 'invalid_document'
  | 'invalid_listing'
  | 'listing_mismatch'
  | 'scan_failed'
  | 'scan_unread'
  | 'retired'
  | 'pattern_refused'
  | 'not_nameable'
  | 'conflict';

/** An installed skill, or one tool of it, that is not in the menu. */
export interface SkillProblem {
  /** As the document claims it, where it could be read. */
  readonly slug?: string;
  readonly version?: string;
  readonly tool?: string;
  readonly reason: ProblemReason;
  readonly message: string;
  readonly issues: readonly SkillIssue[];
}

/** One installed skill, verified, or why not. */
export type VerifyResult = { ok: true; skill: VerifiedSkill } | { ok: false; problem: SkillProblem };

/** Verifies one installed skill. Never throws on what a stranger wrote. */
export async function verifySkill(given: InstalledSkill): Promise<VerifyResult> {
  const installed = given ?? {};
  try {
    return await verify(installed);
  } catch (error) {
    if (!isSkillRunError(error, 'skill_invalid')) throw error;
    return problem(
      claimed(installed.document),
      'invalid_document',
      error.message,
      (error as SkillInvalid).issues,
    );
  }
}

async function verify(installed: InstalledSkill): Promise<VerifyResult> {
  const document = await parseSkill(installed.document);
  const of = { slug: document.slug, version: document.version };
  const listed = await verifyListing(document, installed.listing, installed.acknowledged);
  if (!listed.ok) return problem(of, listed.reason, listed.message, listed.issues);
  const tools = await compileTools(document);
  if ('issues' in tools) {
    return problem(of, 'pattern_refused', sentences(tools.issues), tools.issues);
  }
  const { listing, pins } = listed;
  const skill = { document, listing, ...of, hash: document.integrity.hash };
  return { ok: true, skill: { ...skill, findings: listing.scan.findings, tools: tools.tools, pins } };
}

/**
 * Whether a later listing lets a verified skill go on running; `undefined` where it does, else why not. It is
 * held to all that the first one was, to the same pins, and to the findings that were acknowledged then.
 */
export async function verifyAgain(
  skill: VerifiedSkill,
  listing: unknown,
): Promise<ProblemReason | undefined> {
  const wasFlagged = strictVerdict(skill.listing) === 'flagged';
  const acknowledged = wasFlagged ? await acknowledgementOf(skill.listing) : undefined;
  const listed = await verifyListing(skill.document, listing, acknowledged);
  if (!listed.ok) return listed.reason;
  const texts = [skill.pins, listed.pins].map((pins) => JSON.stringify(pins));
  return texts[0] === texts[1] ? undefined : 'listing_mismatch';
}

type Listed =
  | { ok: true; listing: SkillListing; pins: readonly CodePin[] }
  | { ok: false; reason: ProblemReason; message: string; issues: readonly SkillIssue[] };

async function verifyListing(
  document: SkillDocument,
  given: unknown,
  acknowledged: string | undefined,
): Promise<Listed> {
  const refuse = (reason: ProblemReason, message: string, issues: readonly SkillIssue[] = []): Listed => ({
    ok: false,
    reason,
    message,
    issues,
  });
  let listing: SkillListing;
  try {
    listing = parseListing(given);
  } catch (error) {
    if (!(error instanceof SkillInvalid)) throw error;
    return refuse('invalid_listing', error.message, error.issues);
  }
  const pinned = await checkPins(document, listing);
  if (!pinned.ok) return refuse('listing_mismatch', sentences(pinned.issues), pinned.issues);
  if (listing.status === 'retired') return refuse('retired', 'The registry has retired this version.');
  const verdict = strictVerdict(listing);
  if (verdict === 'failed') return refuse('scan_failed', "The registry's scan failed this version.");
  if (verdict === 'flagged' && acknowledged !== (await acknowledgementOf(listing))) {
    return refuse(
      'scan_unread',
      "The registry's scan flagged this version, and its findings were not acknowledged.",
    );
  }
  return { ok: true, listing, pins: pinned.pins };
}

function sentences(issues: readonly SkillIssue[]): string {
  return issues.map((found) => found.message).join(' ');
}

async function compileTools(
  document: SkillDocument,
): Promise<{ tools: VerifiedTool[] } | { issues: readonly SkillIssue[] }> {
  const tools: VerifiedTool[] = [];
  for (const [index, tool] of (('tools' in document && document.tools) || []).entries()) {
    const args = parseArgsSchema(tool.args, `/tools/${index}/args`);
    if (!args.ok) return { issues: args.issues };
    const compiled = await compileArgs(args.schema, `/tools/${index}/args`);
    if (!compiled.ok) return { issues: compiled.issues };
    tools.push({
      name: tool.name,
      description: tool.description,
      entry: tool.entry,
      args: tool.args,
      validator: compiled.validator,
      net: tool.net ?? 'deny',
      limits: {
        wall_ms: tool.limits?.wall_ms ?? defaultLimits.wall_ms,
        mem_bytes: tool.limits?.mem_bytes ?? defaultLimits.mem_bytes,
      },
    });
  }
  return { tools };
}

function problem(
  of: { slug?: string; version?: string },
  reason: ProblemReason,
  message: string,
  issues: readonly SkillIssue[],
): VerifyResult {
  return { ok: false, problem: { ...of, reason, message, issues } };
}

// What a document that was not taken says of itself, where that has the form of it: a person needs a name.
function claimed(document: unknown): { slug?: string; version?: string } {
  let value = document;
  if (typeof document === 'string') {
    const read = parseJson(document, { maxLength: maxDocumentLength });
    value = read.ok ? read.value : undefined;
  }
  const { slug: slugClaim, version: versionClaim } = (value ?? {}) as { slug?: unknown; version?: unknown };
  const named = slug.safeParse(slugClaim);
  const numbered = version.safeParse(versionClaim);
  return { ...(named.success && { slug: named.data }), ...(numbered.success && { version: numbered.data }) };
}
