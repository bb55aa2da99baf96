import { totalmem } from 'node:os';
import { invalidOption } from '../../errors.ts';
import { requireWhole } from '../../run/options.ts';
import { maxLimits } from '../../skill/caps.ts';
import type { Backend } from './types.ts';

const maxPlaces = 8;

/** How a sandbox is built. */
export interface SandboxOptions {
  /** Default: `bwrap` where it is installed and works, else `util-linux`. */
  backend?: Backend;
  /** Path of the Node that runs tools, 20.19 or newer. Default: the running one. */
  node?: string;
  /** Where the folder for the sandbox's files is made. Default: the system's temporary folder. */
  directory?: string;
  /**
   * Most sandboxes that are started ahead and wait for a job each, 0 to 8. Default 2. One is for tools of the default
   * net and limits, the others for what was run in the last five minutes; where none fits, one is built.
   */
  warm?: number;
  /**
   * Most memory of those that wait, in bytes, each counted with all that its tool may use: a waiting one holds some
   * 50 MiB. 0 to 2 GiB. Default 512 MiB, or a quarter of the machine's memory where that is less.
   */
  warmBytes?: number;
}

/** How many sandboxes may wait, with the defaults filled. */
export function warmOptions({ warm, warmBytes }: SandboxOptions): { places: number; bytes: number } {
  const quarter = Math.floor(totalmem() / 4);
  return { places: warm ?? 2, bytes: warmBytes ?? Math.min(quarter, 512 * 1_048_576) };
}

/**
 * Throws `option_invalid` for an option that is not as {@link SandboxOptions} says: a misspelt
 * backend must not become a weaker one.
 */
export function requireSandboxOptions(options: SandboxOptions): void {
  // Wider than their types, for callers without types.
  const { backend, node }: { backend?: unknown; node?: unknown } = options;
  if (backend !== undefined && backend !== 'bwrap' && backend !== 'util-linux') {
    throw invalidOption(
      'backend',
      "neither 'bwrap' nor 'util-linux'",
      'Leave it out for the strongest there is.',
    );
  }
  if (node !== undefined && (typeof node !== 'string' || node === '')) {
    throw invalidOption('node', 'not a path', 'Pass the path of a Node binary, such as /usr/bin/node.');
  }
  const { places, bytes } = warmOptions(options);
  requireWhole('warm', places, 0, maxPlaces);
  requireWhole('warmBytes', bytes, 0, maxPlaces * maxLimits.mem_bytes);
}
