import type { Link, LinkOptions, LocalLink } from './link.ts';
import { createLink } from './link.ts';
import { openSandbox } from './sandbox/open.ts';
import type { Backend } from './sandbox/types.ts';

/** {@link createLocalLink}'s options. */
export interface LocalLinkOptions extends LinkOptions {
  /** Default: the strongest that this machine has. */
  backend?: Backend;
  /** Path of the Node binary that runs the tools, >= 20.19. Default: this process's own. */
  node?: string;
}

/**
 * A Run on this machine, for its owner, in this process. Returns at once: the sandbox opens at the first need.
 * Throws `option_invalid` unless `owner` is a `usr_` id and `skills` is `'on'`.
 */
export function createLocalLink(options: LocalLinkOptions): LocalLink {
  return createSandboxedLink(options).link;
}

/** A Link over the real sandbox: there is no option that replaces it. */
export function createSandboxedLink(options: LocalLinkOptions): Link {
  const { backend, node } = options;
  return createLink(options, () => openSandbox({ ...(backend && { backend }), ...(node && { node }) }));
}
