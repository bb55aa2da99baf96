import { accessSync, constants } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/** Kernel id of `nobody`: what a sandbox runs as when it is started by root. */
export const nobody = 65_534;

/** The ids to start a sandbox's processes with: `nobody`'s when we are root, else our own. */
export function sandboxIds(): { uid?: number; gid?: number } {
  return process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};
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
