import { isoTime } from '../clock.ts';
import type { MenuEntry } from '../menu/skill-set.ts';
import { netWords } from '../menu/words.ts';
import type { Limits, Net } from '../skill/caps.ts';
import type { JsonObject } from '../skill/json.ts';
import type { ScanFinding } from '../skill/listing.ts';
import { visible } from '../skill/text.ts';
import { type StepRecord, stepKind, stepLabel } from '../step/record.ts';

/**
 * Everything a person has to see to decide, exactly as it will run. Texts of the skill are the skill's own
 * words, with invisible characters made visible.
 */
export interface ApprovalRequest {
  /** `stp_<ULID>`: what `approve` and `deny` take. */
  readonly id: string;
  readonly kind: 'skill.run';
  readonly label: string;
  readonly target: string;
  /** What the approval binds to: pass it back to be sure that this is what was shown. */
  readonly digest: string;
  readonly person: { readonly subject: string; readonly project: string };
  /** `agt_<ULID>` or null. */
  readonly agent: string | null;
  readonly skill: {
    readonly slug: string;
    readonly version: string;
    readonly hash: string;
    /** Null when the skill is no longer installed. */
    readonly name: string | null;
    /** Who the registry says published it. */
    readonly publisher: string | null;
  };
  readonly tool: { readonly name: string; readonly description: string | null };
  /** The arguments as they will run. A value: show it through {@link describeApproval} or escape it. */
  readonly arguments: JsonObject;
  readonly net: {
    readonly value: Net;
    readonly words: string;
    /** The hosts that the skill declares. A declaration, not a limit. */
    readonly hosts: readonly string[];
  };
  readonly limits: Limits;
  /** Where it would run, in words. */
  readonly where: string;
  readonly always: { readonly allowed: boolean; readonly covers: string };
  /** What the registry's scan found about this tool, and about the skill as a whole. */
  readonly findings: readonly ScanFinding[];
  /** Why the person is asked. */
  readonly why: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

/** @param entry the tool in the current skill set, where it is still installed with the same content */
export function approvalRequest(
  step: StepRecord,
  entry: MenuEntry | undefined,
  where: string,
): ApprovalRequest {
  const { run, owner } = step;
  const document = entry?.skill.document;
  const publisher = entry?.skill.listing.publisher;
  return {
    id: step.id,
    kind: stepKind,
    label: stepLabel,
    target: step.target,
    digest: step.digest,
    person: { subject: owner.subject, project: owner.project },
    agent: owner.agent,
    skill: {
      slug: run.slug,
      version: run.version,
      hash: run.hash,
      name: document ? visible(document.name) : null,
      publisher: publisher ? visible(publisher.name ?? publisher.subject) : null,
    },
    tool: { name: run.tool, description: entry ? visible(entry.tool.description) : null },
    arguments: run.arguments,
    net: { value: run.net, words: netWords[run.net], hosts: document?.requires?.hosts ?? [] },
    limits: run.limits,
    where,
    always: { allowed: step.canAlways, covers: alwaysCovers(step) },
    findings:
      entry?.skill.findings.filter((found) => found.tool === undefined || found.tool === run.tool) ?? [],
    why: step.why,
    expiresAt: isoTime(step.expiresAt),
  };
}

function alwaysCovers({ run, owner }: StepRecord): string {
  const who = owner.agent === null ? 'in this project' : 'by this agent in this project';
  return (
    `every later run of ${run.tool} of exactly ${run.slug}@${run.version}, with any arguments and ` +
    `${netWords[run.net]}, ${who}, until it is revoked; a new version asks again`
  );
}

/** The request as lines of plain text, safe to print: nothing in it can move a cursor or forge a line. */
export function describeApproval(request: ApprovalRequest): string {
  const { skill, tool, net, limits } = request;
  const lines: [string, string][] = [
    ['what', `${request.label}: ${request.target}`],
    [
      'skill',
      `${skill.name === null ? '(no longer installed)' : quoted(skill.name)}; ${
        skill.publisher === null
          ? 'the registry names no publisher'
          : `the registry names as publisher ${quoted(skill.publisher)}`
      }`,
    ],
    ['tool', `${tool.name}${tool.description ? `; it says of itself ${quoted(tool.description)}` : ''}`],
    ['arguments', visibleSpaces(visible(JSON.stringify(request.arguments)))],
    [
      'network',
      net.hosts.length > 0 ? `${net.words}; the skill says it uses ${net.hosts.join(', ')}` : net.words,
    ],
    ['limits', `${limits.wall_ms} ms, ${Math.round(limits.mem_bytes / 1_048_576)} MiB`],
    ['where', visible(request.where)],
    [
      'for',
      `${request.person.subject} in ${request.person.project}${request.agent ? `, asked by ${request.agent}` : ''}`,
    ],
    ['why', visible(request.why)],
    [
      'always',
      request.always.allowed ? `would cover ${request.always.covers}` : 'cannot be said to this step',
    ],
    ['expires', request.expiresAt],
    ...request.findings.map((found): [string, string] => [
      'scan',
      `${found.severity}: ${quoted(visible(found.message))}`,
    ]),
  ];
  return lines.map(([name, value]) => `${name.padEnd(10)}${value}`).join('\n');
}

// In quotes that it cannot close, and without runs of spaces that would wrap it into a line like ours.
function quoted(words: string): string {
  return `"${words.replace(/\p{Zs}+/gu, ' ').replaceAll('"', "'")}"`;
}

// A space of another kind than the common one is shown as what it is.
function visibleSpaces(text: string): string {
  return text.replace(/[^\P{Zs} ]/gu, (space) => `\\u{${(space.codePointAt(0) ?? 0).toString(16)}}`);
}
