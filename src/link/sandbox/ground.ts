import { SkillRunError } from '../../errors.ts';
import type { BaseFolder } from './base-folder.ts';
import type { Command, Job } from './command.ts';
import { type JobFolder, makeJobFolder } from './job-folder.ts';
import type { NodeBinary } from './node-binary.ts';
import type { ToolRun } from './types.ts';

/** What the runs of one sandbox share. */
export interface Ground {
  readonly node: NodeBinary;
  readonly base: BaseFolder;
  command(job: Job): Promise<Command>;
}

/**
 * Lays out a run's folder, hands over the command that runs it, and removes the folder whatever happens.
 *
 * @param inside `/bin/node` and its arguments
 * @throws `link_unavailable` when the machine could not take the files
 */
export async function withJob<T>(
  ground: Ground,
  run: ToolRun,
  inside: readonly string[],
  use: (command: Command) => Promise<T>,
): Promise<T> {
  let folder: JobFolder | undefined;
  try {
    let command: Command;
    try {
      folder = await makeJobFolder(ground.base.path, run);
      const { node, base } = ground;
      command = await ground.command({ node, base, folder, limits: run.limits, inside });
    } catch (cause) {
      const message = "The run's files could not be written. Make room where the sandbox's folder is.";
      throw new SkillRunError('link_unavailable', message, { cause, retryable: true });
    }
    return await use(command);
  } finally {
    await folder?.remove();
  }
}
