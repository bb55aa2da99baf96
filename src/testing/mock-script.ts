import type { Clock } from '../clock.ts';
import type { JobEnd } from '../link/job-spec.ts';
import type { JobControl } from '../link/jobs.ts';
import type { Job } from '../run/wire.ts';
import type { Json } from '../skill/json.ts';

/** What a mock job does on its way, whatever its end. Times are milliseconds of the mock's clock. */
export interface MockWay {
  /** The node it is placed on, whatever the mock's nodes offer. */
  readonly node?: string;
  /** How long it is placed before it starts. Default 0. */
  readonly placedMs?: number;
  /** How long it runs. Default 0. */
  readonly runMs?: number;
  /** Pieces of stdout for the stream. */
  readonly output?: readonly string[];
  /** What diagnostics answer; without it there are none. */
  readonly stderr?: string;
  /** What the job says it used; default: what passed on the clock. */
  readonly wallMs?: number;
  /** A Run that lies: these fields stand in every answer about the job, in place of the true ones. */
  readonly lie?: Partial<Job>;
}

/** How a mock job ends. */
export type MockEnd = MockWay &
  (
    | { readonly result: Json }
    /** `started: false`: it failed before the code ran. */
    | {
        readonly fail: string;
        readonly detail?: string;
        readonly exitCode?: number;
        readonly started?: boolean;
      }
    | { readonly limit: true; readonly detail?: string }
    /** It ends cancelled though nobody asked. */
    | { readonly cancelled: true }
    /** Placed, but never started within its ttl. */
    | { readonly expired: true }
    /** No node offers it: queued until its ttl, then expired. */
    | { readonly unplaceable: true }
    /** Runs until it is cancelled or its ttl is over; or for ever, whatever is asked of it. */
    | { readonly hang: 'until-cancel' | 'forever' }
  );

/** Plays one job's script. */
export async function playScript(end: MockEnd, control: JobControl, clock: Clock): Promise<JobEnd> {
  try {
    await pause(end.placedMs, control.signal, clock);
    if ('expired' in end) {
      return { state: 'expired', error: { code: 'run.job.ttl', detail: 'Not started within its ttl.' } };
    }
    if (!('fail' in end && end.started === false)) control.onStart();
    for (const chunk of end.output ?? []) control.onOutput(chunk);
    await pause(end.runMs, control.signal, clock);
    if ('hang' in end) await hang(end.hang, control.signal);
  } catch {
    return { ...aboutOf(end), state: 'cancelled' };
  }
  return { ...aboutOf(end), ...endOf(end) };
}

async function pause(ms: number | undefined, signal: AbortSignal, clock: Clock): Promise<void> {
  if (ms !== undefined) await clock.sleep(ms, signal);
}

function hang(how: 'until-cancel' | 'forever', signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (how === 'forever') return;
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function aboutOf(end: MockEnd): Pick<JobEnd, 'usage' | 'diagnostics'> {
  return {
    ...(end.wallMs !== undefined && {
      usage: { wall_ms: end.wallMs, cpu_ms: end.wallMs, mem_peak_bytes: null },
    }),
    ...(end.stderr !== undefined && { diagnostics: { stderr: end.stderr, targets: [] } }),
  };
}

function endOf(end: MockEnd): JobEnd {
  if ('result' in end) return { state: 'succeeded', result: end.result };
  if ('limit' in end) {
    return {
      state: 'failed',
      exit: { reason: 'limit', code: null },
      error: { code: 'run.job.limit', detail: end.detail ?? 'wall' },
    };
  }
  if ('fail' in end) {
    const reason = end.exitCode === undefined ? 'failed' : 'exited';
    return {
      state: 'failed',
      exit: { reason, code: end.exitCode ?? null },
      error: { code: end.fail, detail: end.detail ?? null },
    };
  }
  return { state: 'cancelled' };
}
