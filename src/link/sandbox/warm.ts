import type { Target } from '../egress/targets.ts';
import { warmCommand } from './command.ts';
import { type Ground, layOut, type Plot } from './ground.ts';
import { layCode } from './job-folder.ts';
import { type Launched, launch } from './launch.ts';
import { leaks, requireLayers } from './probe-canary.ts';
import { type ProcessSample, processTree } from './process-tree.ts';
import type { ToolRun } from './types.ts';
import { defaultClass, type WarmClass } from './warm-class.ts';

/** A sandbox that was started ahead: Node waits inside for its one job, and there is no job's data in it. */
export interface WarmSandbox {
  readonly launched: Launched;
  /** What its start used: processor milliseconds, and bytes of memory at their peak. */
  readonly used: Pick<ProcessSample, 'cpuMs' | 'memPeakBytes'>;
  /** The hosts that its tool asked for. */
  readonly targets: readonly Target[];
  /** Lays a run's code into it; whether it can still run that. Nothing of the tool's has run when it cannot. */
  prepare(run: ToolRun): boolean;
  /** Starts what was prepared. Its input, and only that, is then to be written to stdin. */
  begin(run: ToolRun): void;
  /** Kills it, and removes what it was built from when nothing uses that any more. */
  discard(): Promise<void>;
}

/** Milliseconds that a start may take. */
const patienceMs = 5000;

/**
 * Starts a sandbox ahead, and looks at it from outside before anything is trusted to it. While it waits it does not
 * keep the host's process alive.
 *
 * @param signal gives the start up
 * @returns `undefined` where it did not come up, and nothing is left of it
 * @throws `link_unavailable` where it came up and lacks a layer; nothing is left of it then either
 */
export async function startWarm(
  ground: Ground,
  kind: WarmClass = defaultClass,
  signal?: AbortSignal,
): Promise<WarmSandbox | undefined> {
  let plot: Plot | undefined;
  let launched: Launched | undefined;
  // What cannot be removed goes with the sandbox's own folder.
  const giveUp = (): Promise<void> => remove(launched, plot).catch(() => undefined);
  try {
    plot = await layOut(ground, { files: [], ...kind }, warmCommand(ground, kind));
    launched = await launch(plot.command);
    if (!(await saysReady(launched, signal))) throw new Error('It did not come up.');
  } catch {
    // A job then has a sandbox built for it, and that says what is wrong with the machine.
    await giveUp();
    return undefined;
  }
  try {
    await requireHeld(ground, launched, plot);
  } catch (error) {
    await giveUp();
    throw error;
  }
  launched.hold(false);
  return warmSandbox(launched, plot);
}

// Each of them, as it takes less than a millisecond: that one of another class holds says nothing of this one.
async function requireHeld(ground: Ground, { pid }: Launched, { egress }: Plot): Promise<void> {
  requireLayers(pid, ground.backend);
  if (egress !== undefined && !(await egress.isShut())) {
    throw leaks('the way out of one that waits for its job is open');
  }
}

function warmSandbox(launched: Launched, plot: Plot): WarmSandbox {
  const { folder, egress } = plot;
  const tree = processTree(launched.pid);
  return {
    launched,
    used: {
      cpuMs: tree.reduce((sum, one) => sum + one.cpuMs, 0),
      memPeakBytes: tree.reduce((sum, one) => sum + one.memPeakBytes, 0),
    },
    targets: egress?.targets ?? [],
    prepare(run) {
      launched.hold(true);
      try {
        layCode(folder, run);
      } catch {
        return false;
      }
      return !launched.isGone();
    },
    begin({ entry, net }) {
      egress?.arm(net);
      // It goes out together with the input.
      launched.stdin.cork();
      launched.stdin.write(`${entry}\n`);
      launched.stdout.resume();
    },
    discard: () => remove(launched, plot),
  };
}

// Its one byte of stdout; the stream rests after it, so that nothing of the tool's is lost.
async function saysReady({ stdout, exit, kill }: Launched, signal?: AbortSignal): Promise<boolean> {
  const timer = setTimeout(kill, patienceMs).unref();
  const stop = (): void => kill();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  try {
    const said = new Promise<string>((resolve) => {
      stdout.once('data', (chunk: Buffer) => {
        stdout.pause();
        resolve(chunk.toString('latin1'));
      });
    });
    return (await Promise.race([said, exit])) === '\n';
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}

async function remove(launched: Launched | undefined, plot: Plot | undefined): Promise<void> {
  if (launched !== undefined) {
    launched.hold(true);
    launched.kill();
    // Streams that nobody reads would keep it from being over.
    launched.stdout.resume();
    launched.stderr.resume();
    await launched.exit;
  }
  await plot?.remove();
}
