import { invalidOption, SkillRunError } from '../errors.ts';
import { requireId } from '../ids.ts';
import { type Limits, maxLimits, type Net } from '../skill/caps.ts';
import type { JsonObject } from '../skill/json.ts';
import { runnerCapabilities } from './offers.ts';
import { requireWhole } from './options.ts';
import type { Tier } from './service.ts';
import { type Egress, type JobRequest, runnerArtifact, type Trust } from './wire.ts';

/** A code file of the skill, as its listing pins it. */
export interface InputPin {
  /** The job input's file name: the resource's path with `/` as `.`. */
  readonly name: string;
  /** `med_<ULID>`. */
  readonly mediaId: string;
  /** 64 lower-case hex digits. */
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

/** What a job is made of: all of it fixed before, and shown at, the decision. */
export interface JobParts {
  readonly tool: string;
  /** The path of the tool's entry, such as `lib/main.js`. */
  readonly entry: string;
  /** The validated arguments, as they will run. */
  readonly input: JsonObject;
  readonly pins: readonly InputPin[];
  /** Default `deny`. */
  readonly net?: Net | undefined;
  readonly limits: Limits;
  readonly tier: Tier;
  /** `prj_<ULID>`. */
  readonly project: string;
  /** From {@link idempotencyKey}. */
  readonly key: string;
}

/** Milliseconds from the submit that a job may wait and run in all (ours, from ADR-060). */
export const jobTtlMs = 120_000;

/** A tool's network in Run's word. */
export function egressOf(net: Net = 'deny'): Egress {
  return net === 'deny' ? 'none' : net;
}

/** The trust that a tier's nodes have: never a mixed list, which Run would score instead of ordering. */
export function trustOf(tier: Tier): Trust {
  return tier === 'own' ? 'user-owned' : 'first-party';
}

/**
 * One key a step and placement attempt: whoever submits that attempt again, after a crash or from a
 * second tab, gets the first job.
 *
 * @param attempt 1 for the first placement, 1 more for each after it
 */
export function idempotencyKey(stepId: string, attempt: number): string {
  return `skill.run:${requireId('stp', stepId, 'stepId')}:${requireWhole('attempt', attempt, 1, 1000)}`;
}

/**
 * The body that submits a tool's run (ours, from ADR-060).
 *
 * @throws `widening_refused` for limits above the caps; `option_invalid` for anything else that no job may be
 */
export function buildJobRequest(parts: JobParts): JobRequest {
  const { tool, entry, input, pins, limits, tier, project, key } = parts;
  const egress = egressOf(parts.net);
  requirePins(pins, entry);
  return {
    class: 'function',
    artifact: { ...runnerArtifact },
    args: { tool, entry, input },
    inputs: pins.map((pin) => ({
      name: pin.name,
      media_id: requireId('med', pin.mediaId, 'pins.mediaId'),
      sha256: pin.sha256,
      size_bytes: pin.size,
    })),
    limits: {
      wall_ms: requireLimit('wall_ms', limits),
      cpu_ms: limits.wall_ms,
      mem_bytes: requireLimit('mem_bytes', limits),
    },
    ttl_ms: jobTtlMs,
    egress,
    requirements: {
      kind: 'run.function',
      mobility: 'job',
      latency_class: 'interactive',
      objective: 'balanced',
      trust: [trustOf(tier)],
      capabilities: [...runnerCapabilities, `egress:${egress}`],
      project_id: requireId('prj', project, 'project'),
      resources: { memory_mb: Math.ceil(limits.mem_bytes / 1_048_576), egress },
    },
    idempotency_key: key,
  };
}

function requireLimit(name: keyof Limits, limits: Limits): number {
  const value = limits[name];
  if (value > maxLimits[name]) {
    throw new SkillRunError(
      'widening_refused',
      `limits.${name}: above the cap of ${maxLimits[name]}. A tool runs under its own limits or narrower.`,
    );
  }
  return requireWhole(`limits.${name}`, value, 1, maxLimits[name]);
}

// Names differ in more than case: a node's file system may not tell them apart.
function requirePins(pins: readonly InputPin[], entry: string): void {
  const names = new Set(pins.map((pin) => pin.name.toLowerCase()));
  const shaped = pins.every(
    ({ name, sha256, size }) =>
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name) &&
      /^[0-9a-f]{64}$/.test(sha256) &&
      Number.isSafeInteger(size) &&
      size >= 0,
  );
  if (!shaped || names.size !== pins.length || pins.length > 32) {
    throw invalidOption('pins', 'not up to 32 distinct pinned files', 'Pass the pins of a verified skill.');
  }
  if (!pins.some((pin) => pin.name === entry.replaceAll('/', '.'))) {
    throw invalidOption('entry', 'not one of the pinned files', 'Pass the entry of a verified tool.');
  }
}
