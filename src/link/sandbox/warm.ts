import { defaultLimits } from '../../skill/caps.ts';
import { warmCommand } from './command.ts';
import type { Ground } from './ground.ts';
import { type JobFolder, layCode, makeJobFolder } from './job-folder.ts';
import { type Launched, launch } from './launch.ts';
import { cpuSeconds } from './limits.ts';
import { processTree } from './process-tree.ts';
import type { ToolRun } from './types.ts';

/** A sandbox that was started ahead: Node waits inside for its one job, and there is no job's data in it. */
export interface WarmSandbox {
  readonly launched: Launched;
  /** Processor milliseconds of its start. */
  readonly cpuMs: number;
  /** Lays a run's code into it; whether it can still run that. Nothing of the tool's has run when it cannot. */
  prepare(run: ToolRun): Promise<boolean>;
  /** Starts what was prepared. Its input, and only that, is then to be written to stdin. */
  begin(run: ToolRun): void;
  /** Kills it, and removes its folder when nothing uses it any more. */
  discard(): Promise<void>;
}

/** Milliseconds that a start may take. */
const patienceMs = 5000;

/** Whether a warm sandbox is exactly what would be built for the run: no network, and the same limits of the kernel. */
export function fitsWarm({ net, limits }: Pick<ToolRun, 'net' | 'limits'>): boolean {
  return (
    net === 'deny' &&
    limits.mem_bytes === defaultLimits.mem_bytes &&
    cpuSeconds(limits) === cpuSeconds(defaultLimits)
  );
}

/**
 * Starts a sandbox ahead, for a tool of the default limits. While it waits it does not keep the host's process
 * alive.
 *
 * @param signal gives the start up
 * @returns `undefined` where it did not come up, and nothing is left of it
 */
export async function startWarm(ground: Ground, signal?: AbortSignal): Promise<WarmSandbox | undefined> {
  let folder: JobFolder | undefined;
  let launched: Launched | undefined;
  try {
    const { node, base } = ground;
    const limits = defaultLimits;
    folder = await makeJobFolder(base.path, { files: [] });
    launched = await launch(
      await ground.command({ node, base, folder, limits, inside: warmCommand(node, limits) }),
    );
    if (await saysReady(launched, signal)) {
      launched.hold(false);
      return warmSandbox(launched, folder);
    }
  } catch {
    // A job then has a sandbox built for it, and that says what is wrong with the machine.
  }
  // What cannot be removed goes with the sandbox's own folder.
  await remove(launched, folder).catch(() => undefined);
  return undefined;
}

function warmSandbox(launched: Launched, folder: JobFolder): WarmSandbox {
  return {
    launched,
    cpuMs: processTree(launched.pid).reduce((sum, one) => sum + one.cpuMs, 0),
    async prepare(run) {
      launched.hold(true);
      try {
        await layCode(folder, run);
      } catch {
        return false;
      }
      return !launched.isGone();
    },
    begin({ entry }) {
      launched.stdin.write(`${entry}\n`);
      launched.stdout.resume();
    },
    discard: () => remove(launched, folder),
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

async function remove(launched: Launched | undefined, folder: JobFolder | undefined): Promise<void> {
  if (launched !== undefined) {
    launched.hold(true);
    launched.kill();
    // Streams that nobody reads would keep it from being over.
    launched.stdout.resume();
    launched.stderr.resume();
    await launched.exit;
  }
  await folder?.remove();
}
