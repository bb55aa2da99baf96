import { maxJsonBytes } from '../../skill/caps.ts';
import type { Target } from '../egress/targets.ts';
import { toolCommand } from './command.ts';
import { type Ground, withJob } from './ground.ts';
import { findRefusal } from './job-folder.ts';
import { type Launched, launch } from './launch.ts';
import { watchMemory } from './memory-watch.ts';
import { maxStderrBytes, readStderr } from './output.ts';
import type { RunEnd, ToolRun } from './types.ts';
import { type Cause, judge, maxStderrFlood } from './verdict.ts';
import type { WarmSandbox } from './warm.ts';
import type { WarmPool } from './warm-pool.ts';

/**
 * Runs a tool once: check, lay out, start, watch, judge, remove.
 *
 * @param pool gives a sandbox that was started ahead, where it has one; else one is built for the run
 * @throws `link_unavailable` when the machine could not start it
 */
export async function runTool(
  ground: Ground,
  run: ToolRun,
  pool?: Pick<WarmPool, 'take' | 'release'>,
): Promise<RunEnd> {
  const unused = { stderr: '', usage: { wallMs: 0, cpuMs: null, memPeakBytes: null }, targets: [] };
  const refusal = findRefusal(run, ground.nets);
  if (refusal !== undefined) return { kind: 'refused', detail: refusal, ...unused };
  const warm = await pool?.take(run);
  if (warm !== undefined) {
    try {
      const ready = warm.prepare(run);
      if (run.signal?.aborted) return { kind: 'cancelled', ...unused };
      if (ready) {
        const started = performance.now();
        warm.begin(run);
        return await follow(warm.launched, run, warm.targets, started, warm.used);
      }
    } finally {
      pool?.release(warm);
    }
  }
  const inside = toolCommand(ground, run);
  return withJob(ground, run, inside, async (command, targets) => {
    if (run.signal?.aborted) return { kind: 'cancelled', ...unused };
    const started = performance.now();
    return follow(await launch(command), run, targets, started);
  });
}

// `before` is what the sandbox had used before the run. Its processor time is none of the run's, though the kernel's
// limit counts it; its memory is, and a run that is over before anybody looked had no less.
async function follow(
  launched: Launched,
  run: ToolRun,
  targets: readonly Target[],
  started: number,
  before: WarmSandbox['used'] = { cpuMs: 0, memPeakBytes: 0 },
): Promise<RunEnd> {
  const { limits } = run;
  let cause: Cause | undefined;
  const stop = (why: Cause): void => {
    if (cause !== undefined) return;
    cause = why;
    launched.kill();
  };
  const cancel = (): void => stop('cancelled');
  const isOver = (): boolean => cause !== undefined;
  const stdout = collect(launched.stdout, maxJsonBytes, maxJsonBytes, isOver, () => stop('output'));
  const stderr = collect(launched.stderr, maxStderrBytes, maxStderrFlood, isOver, () => stop('stderr'));
  const timer = setTimeout(() => stop('wall'), Math.max(0, limits.wall_ms - (performance.now() - started)));
  const watch = watchMemory(launched.pid, limits.mem_bytes, () => stop('memory'));
  // A tool is often over right after its first word; at its last, the keeper knows what it used.
  launched.stdout.once('data', watch.look).once('end', watch.look);
  launched.stderr.once('data', watch.look);
  run.signal?.addEventListener('abort', cancel, { once: true });
  if (run.signal?.aborted) cancel();
  try {
    run.onStart?.();
    launched.stdin.end(JSON.stringify(run.input));
    const exit = await launched.exit;
    const seen = watch.seen();
    const usage = {
      wallMs: Math.round(performance.now() - started),
      cpuMs: seen.cpuMs === null ? null : Math.max(0, seen.cpuMs - before.cpuMs),
      memPeakBytes: seen.memPeakBytes === null ? null : Math.max(seen.memPeakBytes, before.memPeakBytes),
    };
    return {
      ...judge(cause, exit, stdout(), seen, limits),
      stderr: readStderr(stderr()),
      usage,
      targets: targets.map((target) => ({ ...target })),
    };
  } finally {
    clearTimeout(timer);
    watch.stop();
    run.signal?.removeEventListener('abort', cancel);
    launched.kill();
    // The folder may go only when nothing uses it.
    await launched.exit;
  }
}

// Keeps the first `keep` bytes of a stream, reads on to its end, and tells once it is longer than `most`. What
// comes after the host has ended the run is the keeper's own complaint about that.
function collect(
  stream: Launched['stdout'],
  keep: number,
  most: number,
  isOver: () => boolean,
  onMore: () => void,
): () => Uint8Array {
  const kept: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (isOver()) return;
    if (size < keep) kept.push(chunk.subarray(0, keep - size));
    size += chunk.length;
    if (size > most) onMore();
  });
  stream.on('error', () => undefined);
  return () => Buffer.concat(kept);
}
