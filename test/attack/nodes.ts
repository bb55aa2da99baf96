import { isAbsolute } from 'node:path';
import { inspectNode } from '../../src/link/sandbox/node-binary.ts';

/**
 * The Nodes to attack on: those of `SKILL_RUN_NODES`, absolute paths with `:` between them, or the running one.
 *
 * @throws for a path that is no Node 20.19 or newer, as one that is left out would go unseen
 */
export async function nodesAtHand(listed = ''): Promise<string[]> {
  const paths = listed.split(':').filter((path) => path !== '');
  for (const path of paths) {
    const whole = isAbsolute(path)
      ? inspectNode(path)
      : Promise.reject(new Error('The path is not absolute.'));
    await whole.catch((error: Error) => {
      throw new Error(
        `SKILL_RUN_NODES: ${path} is no Node 20.19 or newer that every user may run: ${error.message}`,
      );
    });
  }
  return paths.length === 0 ? [process.execPath] : [...new Set(paths)];
}
