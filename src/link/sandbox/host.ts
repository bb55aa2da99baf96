import { accessSync, constants, readFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** Kernel id of `nobody`: what a sandbox runs as when it is started by root. */
export const nobody = 65_534;

/** The ids to start a sandbox's processes with: `nobody`'s when we are root, else our own. */
export function sandboxIds(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
}

/**
 * Whether a user namespace map (`/proc/self/uid_map`: lines of first id inside, first id outside, count) has
 * the id. Root of a namespace that lacks `nobody` cannot become that user.
 */
export function mapHasId(map: string, id: number): boolean {
  return map
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .some(([first = 0, , count = 0]) => id >= first && id < first + count);
}

/** Whether this process can start another as {@link sandboxIds} says. */
export function canBecomeSandboxUser(): boolean {
  if (process.getuid?.() !== 0) return true;
  return ['uid_map', 'gid_map'].every((map) => mapHasId(readFileSync(`/proc/self/${map}`, 'latin1'), nobody));
}

/** The absolute path of a program of this machine; `undefined` where PATH has none. */
export function findProgram(name: string): string | undefined {
  const folders = (process.env.PATH ?? '/usr/bin:/bin:/usr/sbin:/sbin').split(':');
  // A relative entry would let whoever chose the working folder choose the program.
  return folders
    .filter((folder) => isAbsolute(folder))
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
