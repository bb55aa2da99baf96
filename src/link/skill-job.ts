import * as z from 'zod/mini';
import { egressOf } from '../run/job-request.ts';
import { runnerCapabilities } from '../run/offers.ts';
import type { JobInput } from '../run/wire.ts';
import { runnerArtifact } from '../run/wire.ts';
import type { Net } from '../skill/caps.ts';
import { maxJsonBytes } from '../skill/caps.ts';
import type { JsonObject } from '../skill/json.ts';
import { sha256, utf8 } from '../skill/sha256.ts';
import { visible } from '../skill/text.ts';
import type { JobEnd, JobSpec } from './job-spec.ts';
import type { JobControl } from './jobs.ts';
import type { MediaSource } from './media.ts';
import { orAborted } from './or-aborted.ts';
import type { CodeFile, RunEnd, Sandbox } from './sandbox/types.ts';

/** Longest code file, in bytes (actor.skill@2). */
const maxFileBytes = 65_536;

/** What an offer of a node says that runs skills under these nets. */
export function skillCapabilities(nets: readonly Net[]): string[] {
  return [...runnerCapabilities, ...nets.map((net) => `egress:${egressOf(net)}`)];
}

/**
 * Whether a person's own Link takes this job: the runner's artifact, a network the sandbox can hold it to, a
 * person who named his own machines, and no demand that the Link could not keep.
 */
export function takesJob(spec: JobSpec, nets: readonly Net[]): boolean {
  const { kind, mobility, trust, capabilities, region, residency } = spec.requirements as {
    kind: string;
    mobility: string;
    trust?: string[];
    capabilities?: string[];
    region?: string;
    residency?: string;
  };
  const has = skillCapabilities(nets);
  return (
    spec.artifact.name === runnerArtifact.name &&
    spec.artifact.version === runnerArtifact.version &&
    nets.includes(netOf(spec)) &&
    kind === 'run.function' &&
    mobility === 'job' &&
    trust?.includes('user-owned') === true &&
    (capabilities ?? []).every((wanted) => has.includes(wanted)) &&
    region === undefined &&
    residency === undefined &&
    // The sandbox is told one time; processor time below it could not be held.
    spec.limits.cpu_ms >= spec.limits.wall_ms
  );
}

function netOf(spec: JobSpec): Net {
  return spec.egress === 'none' ? 'deny' : spec.egress;
}

/**
 * Runs one skill tool: fetches and checks its code, gives it to the sandbox, says how it ended. Rejects with
 * `aborted` when the signal fires while the code is fetched, whatever its source does.
 */
export async function runSkillJob(
  spec: JobSpec,
  control: JobControl,
  ports: { sandbox: Sandbox; media: MediaSource },
): Promise<JobEnd> {
  const args = argsSchema.safeParse(spec.args);
  if (!args.success || utf8(JSON.stringify(args.data.input)).length > maxJsonBytes) {
    return failed('run.job.worker_failed', 'args: not {tool, entry, input} as the skill runner takes them.');
  }
  const loading = Promise.all(spec.inputs.map((input) => load(input, ports.media, control.signal)));
  const loaded = await orAborted(loading, control.signal);
  const fault = loaded.find((file) => 'state' in file);
  if (fault !== undefined) return fault as JobEnd;
  const files = loaded as CodeFile[];
  if (!files.some((file) => file.path === args.data.entry)) {
    return failed('run.job.worker_failed', 'entry: not one of the inputs.');
  }
  const end = await ports.sandbox.run({
    files,
    entry: args.data.entry,
    input: args.data.input as JsonObject,
    limits: { wall_ms: spec.limits.wall_ms, mem_bytes: spec.limits.mem_bytes },
    net: netOf(spec),
    signal: control.signal,
    onStart: control.onStart,
  });
  return jobEndOf(end);
}

const argsSchema = z.strictObject({
  tool: z.string().check(z.regex(/^[a-z][a-z0-9_]{0,31}$/)),
  entry: z.string().check(z.minLength(1), z.maxLength(128)),
  input: z.record(z.string(), z.unknown()),
});

async function load(input: JobInput, media: MediaSource, signal: AbortSignal): Promise<CodeFile | JobEnd> {
  const path = pathOf(input.name);
  if (path === undefined) return failed('run.job.worker_failed', 'inputs: one is not named like a .js file.');
  let bytes: Uint8Array | undefined;
  try {
    bytes = await media(input.media_id, { sha256: input.sha256, signal });
  } catch {
    bytes = undefined;
  }
  // What is no bytes at all, such as data from elsewhere, may claim any length, and a copy would be made of it.
  if (!ArrayBuffer.isView(bytes)) {
    return failed('run.job.worker_failed', 'inputs: one could not be fetched by this Link.');
  }
  if (bytes.byteLength > maxFileBytes) {
    return failed('run.job.worker_failed', `inputs: one has more than ${maxFileBytes} bytes.`);
  }
  // A copy, so that what was checked is what runs, whoever else holds the source's buffer.
  const checked = Uint8Array.from(bytes);
  const sizeDiffers = input.size_bytes !== undefined && input.size_bytes !== checked.byteLength;
  if (sizeDiffers || (await sha256(checked)) !== input.sha256) {
    return failed('run.job.input_digest_mismatch', 'inputs: the bytes of one are not the pinned ones.');
  }
  return { path, bytes: checked };
}

/** `lib.text.js` is `lib/text.js` (a path holds no `.` but the one before its extension). */
function pathOf(name: string): string | undefined {
  const parts = name.split('.');
  if (parts.length < 2 || parts.pop() !== 'js' || parts.includes('')) return undefined;
  return `${parts.join('/')}.js`;
}

function jobEndOf(end: RunEnd): JobEnd {
  const about = {
    usage: {
      wall_ms: whole(end.usage.wallMs),
      cpu_ms: end.usage.cpuMs === null ? null : whole(end.usage.cpuMs),
      mem_peak_bytes: end.usage.memPeakBytes === null ? null : whole(end.usage.memPeakBytes),
    },
    diagnostics: { stderr: end.stderr, targets: [...end.targets] },
  };
  switch (end.kind) {
    case 'exited':
      return { ...about, state: 'succeeded', result: end.value };
    case 'cancelled':
      return { ...about, state: 'cancelled' };
    case 'limit':
      return { ...about, ...failed('run.job.limit', `${end.limit}: ${end.detail}`, 'limit') };
    case 'refused':
      return { ...about, ...failed('run.job.worker_failed', end.detail) };
    // The runner is the function: a tool that fails, or prints no one JSON value, makes it exit with 1 or more.
    case 'failed':
      return { ...about, ...failed('run.job.exit_nonzero', end.detail, 'exited', end.exitCode || 1) };
  }
}

function whole(amount: number): number {
  return Math.max(0, Math.round(amount));
}

function failed(
  code: string,
  detail: string,
  reason: 'failed' | 'limit' | 'exited' = 'failed',
  exitCode: number | null = null,
): JobEnd & { state: 'failed' } {
  return {
    state: 'failed',
    exit: { reason, code: exitCode },
    error: { code, detail: visible(detail).slice(0, 1024).toWellFormed() },
  };
}
