import type { JobEnd } from '../../src/link/job-spec.ts';
import type { JobControl } from '../../src/link/jobs.ts';
import type { RunEnd, Sandbox, ToolRun } from '../../src/link/sandbox/types.ts';
import type { JobRequest } from '../../src/run/wire.ts';
import type { Json } from '../../src/skill/json.ts';
import { sha256, utf8 } from '../../src/skill/sha256.ts';

export const ann = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ', project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ' };
export const bob = { subject: 'usr_01JAB2C3D4E5F6G7H8J9K0MNPR', project: ann.project };
export const elsewhere = { subject: ann.subject, project: 'prj_01JAB2C3D4E5F6G7H8J9K0MNPR' };

export const code = utf8('process.stdout.write("{}")');
export const codeHash = await sha256(code);
export const mediaId = 'med_01JAB2C3D4E5F6G7H8J9K0MN01';

let keys = 0;

/** A submit as the gateway sends it. */
export function jobRequest(change: Partial<JobRequest> = {}): JobRequest {
  keys += 1;
  return {
    class: 'function',
    artifact: { name: 'openvibe-skill-runner', version: '1.0.0' },
    args: { tool: 'slugify', entry: 'slugify.js', input: { title: 'Hi' } },
    inputs: [{ name: 'slugify.js', media_id: mediaId, sha256: codeHash }],
    limits: { wall_ms: 10_000, cpu_ms: 10_000, mem_bytes: 134_217_728 },
    ttl_ms: 120_000,
    egress: 'none',
    requirements: {
      kind: 'run.function',
      mobility: 'job',
      latency_class: 'interactive',
      objective: 'balanced',
      trust: ['user-owned'],
      capabilities: ['worker:function', 'function:openvibe-skill-runner-1.0.0'],
      project_id: ann.project,
      resources: { memory_mb: 128, egress: 'none' },
    },
    idempotency_key: `step-${keys}.own`,
    ...change,
  };
}

/** A promise with its settlers. */
export function gate<T>(): { promise: Promise<T>; open(value: T): void; fail(error: unknown): void } {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

/** An executor whose jobs end when the test says so. */
export function handExecutor() {
  const runs: { control: JobControl; end(end: JobEnd): void; fail(error: unknown): void }[] = [];
  return {
    runs,
    execute: (_job: unknown, _spec: unknown, control: JobControl): Promise<JobEnd> => {
      const { promise, open, fail } = gate<JobEnd>();
      runs.push({ control, end: open, fail });
      return promise;
    },
  };
}

const usage = { wallMs: 1234, cpuMs: 80, memPeakBytes: 1_000_000 };

/** A sandbox that answers by script; it runs no code. */
export function scriptedSandbox(script?: (run: ToolRun) => Promise<RunEnd> | RunEnd) {
  const runs: ToolRun[] = [];
  let closed = 0;
  const sandbox: Sandbox = {
    backend: 'bwrap',
    seccomp: 'on',
    nets: ['deny'],
    async run(run) {
      runs.push(run);
      if (script) return script(run);
      run.onStart?.();
      return exited({ slug: 'hi' });
    },
    async close() {
      closed += 1;
    },
  };
  return {
    sandbox,
    runs,
    get closed() {
      return closed;
    },
  };
}

function exited(value: Json): RunEnd {
  return { kind: 'exited', value, stderr: 'a word for the person', usage, targets: [] };
}

export const runUsage = usage;

/** A sandbox run that lasts until it is killed. */
export function untilKilled(run: ToolRun): Promise<RunEnd> {
  run.onStart?.();
  return new Promise((resolve) => {
    const kill = (): void => resolve({ kind: 'cancelled', stderr: '', usage, targets: [] });
    if (run.signal?.aborted) kill();
    run.signal?.addEventListener('abort', kill);
  });
}
