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
import type { ToolRun } from './types.ts';

/** What the runs of one sandbox share. */
export interface Ground {
  readonly node: NodeBinary;
  readonly base: BaseFolder;
  /** The networks that the backend can hold a tool to. */
  readonly nets: readonly Net[];
  /** What the proxies of jobs with a network reach. */
  readonly outside: Outside;
  command(job: Job): Promise<Command>;
}

/**
 * Lays out a run's folder, opens its way out where it has a network, hands over the command that runs it, and
 * ends and removes both whatever happens.
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
  let folder: JobFolder | undefined;
  let egress: Egress | undefined;
  try {
    let command: Command;
    try {
      folder = await makeJobFolder(ground.base.path, run);
      const { node, base, outside } = ground;
      if (run.net !== 'deny') egress = await openEgress(folder.path, run.net, outside, sandboxIds());
      const way = egress === undefined ? {} : { egress: egress.path };
      command = await ground.command({ node, base, folder, limits: run.limits, inside, ...way });
    } catch (cause) {
      const message = "The run's files could not be written. Make room where the sandbox's folder is.";
      throw new SkillRunError('link_unavailable', message, { cause, retryable: true });
    }
    return await use(command, egress?.targets ?? []);
  } finally {
    await egress?.close();
    await folder?.remove();
  }
}
