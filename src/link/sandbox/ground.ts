import { SkillRunError } from '../../errors.ts';
import type { Net } from '../../skill/caps.ts';
import type { Outside } from '../egress/outside.ts';
import { type Egress, openEgress } from '../egress/proxy.ts';
import type { Target } from '../egress/targets.ts';
import type { BaseFolder } from './base-folder.ts';
import type { Command, Job } from './command.ts';
import { sandboxIds } from './host.ts';
import { type JobFolder, makeJobFolder } from './job-folder.ts';
import type { NodeBinary } from './node-binary.ts';
import type { Backend, ToolRun } from './types.ts';

/** What the runs of one sandbox share. */
export interface Ground {
  readonly backend: Backend;
  readonly node: NodeBinary;
  readonly base: BaseFolder;
  /** Whether tools start from the image in the base folder: once it is there, and a tool from it had all layers. */
  image: boolean;
  /** The networks that the backend can hold a tool to. */
  readonly nets: readonly Net[];
  /** What the proxies of jobs with a network reach. */
  readonly outside: Outside;
  command(job: Job): Command;
}

/** What a sandbox is built from, on the host. */
export interface Plot {
  readonly folder: JobFolder;
  /** The way out, not armed yet, of a sandbox with a network. */
  readonly egress?: Egress;
  readonly command: Command;
  /** Closes the way out and removes the folder, when nothing uses them any more. */
  remove(): Promise<void>;
}

/**
 * Lays out the folder of a sandbox, and opens its way out where it has a network.
 *
 * @param inside `/bin/node` and its arguments
 * @throws what the file system says; nothing is left then
 */
export async function layOut(
  ground: Ground,
  run: Pick<ToolRun, 'files' | 'limits' | 'net'>,
  inside: readonly string[],
): Promise<Plot> {
  const { node, base, outside } = ground;
  const { limits } = run;
  const folder = makeJobFolder(base.path, run);
  let egress: Egress | undefined;
  const remove = async (): Promise<void> => {
    await egress?.close();
    folder.remove();
  };
  try {
    if (run.net === 'deny') {
      return { folder, command: ground.command({ node, base, folder, limits, inside }), remove };
    }
    egress = await openEgress(folder.path, outside, sandboxIds());
    const command = ground.command({ node, base, folder, limits, inside, egress: egress.path });
    return { folder, egress, command, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Lays out what a run needs, hands over the command that runs it, and ends and removes all of it whatever happens.
 *
 * @param inside `/bin/node` and its arguments
 * @throws `link_unavailable` when the machine could not take the files
 */
export async function withJob<T>(
  ground: Ground,
  run: ToolRun,
  inside: readonly string[],
  use: (command: Command, targets: readonly Target[]) => Promise<T>,
): Promise<T> {
  let plot: Plot;
  try {
    plot = await layOut(ground, run, inside);
  } catch (cause) {
    const message = "The run's files could not be written. Make room where the sandbox's folder is.";
    throw new SkillRunError('link_unavailable', message, { cause, retryable: true });
  }
  try {
    plot.egress?.arm(run.net);
    return await use(plot.command, plot.egress?.targets ?? []);
  } finally {
    await plot.remove();
  }
}
