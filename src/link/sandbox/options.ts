import { invalidOption } from '../../errors.ts';
import { requireWhole } from '../../run/options.ts';
import type { Backend } from './types.ts';

/** How a sandbox is built. */
export interface SandboxOptions {
  /** Default: `bwrap` where it is installed and works, else `util-linux`. */
  backend?: Backend;
  /** Path of the Node that runs tools, 20.19 or newer. Default: the running one. */
  node?: string;
  /** Where the folder for the sandbox's files is made. Default: the system's temporary folder. */
  directory?: string;
  /**
   * Sandboxes that are started ahead and wait for a job each, 0 to 8. Default 1. They take tools of the default
   * limits only; for any other, and when none is there, one is built.
   */
  warm?: number;
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
  requireWhole('warm', options.warm ?? 1, 0, 8);
}
