import { doctor } from './doctor.ts';
import type { Link, LinkOptions, LocalLink } from './link.ts';
import { createLink } from './link.ts';
import { openSandbox } from './sandbox/open.ts';
import { requireSandboxOptions } from './sandbox/options.ts';
import type { Backend } from './sandbox/types.ts';

/** {@link createLocalLink}'s options. */
export interface LocalLinkOptions extends LinkOptions {
  /** Default: the strongest that this machine has. */
  backend?: Backend;
  /** Path of the Node binary that runs the tools, >= 20.19. Default: this process's own. */
  node?: string;
  /**
   * Most sandboxes that are started ahead and wait for a job each, 0 to 8. Default 2. One that waits holds a Node
   * and no job's data, is used once, and is exchanged after 20 to 60 s; the next one is started up to a second after
   * a run, at random, as a tool can tell how old its own is. One is for tools of the default net and limits; the
   * others are for the nets and limits of the last five minutes.
   */
  warm?: number;
  /**
   * Most memory of those that wait, in bytes, each counted with all that its tool may use, though a waiting one
   * holds some 50 MiB. 0 to 2 GiB. Default 512 MiB, or a quarter of the machine's memory where that is less.
   */
  warmBytes?: number;
}

/**
 * A Run on this machine, for its owner, in this process. Returns at once: the sandbox opens at the first need.
 *
 * Its jobs and idempotency keys end with it, and with the process: to one made later they mean nothing. So
 * each has an `id` of its own, and a step whose Link is gone is `outcome_unknown` rather than run again.
 *
 * Throws `option_invalid` for an option that is not as it is described here.
 */
export function createLocalLink(options: LocalLinkOptions): LocalLink {
  return createSandboxedLink(options).link;
}

/** A Link over the real sandbox: there is no option that replaces it. */
export function createSandboxedLink(options: LocalLinkOptions): Link {
  const { backend, node, warm, warmBytes } = options;
  const sandbox = {
    ...(backend !== undefined && { backend }),
    ...(node !== undefined && { node }),
    ...(warm !== undefined && { warm }),
    ...(warmBytes !== undefined && { warmBytes }),
  };
  requireSandboxOptions(sandbox);
  return createLink(
    options,
    () => openSandbox(sandbox),
    () => doctor(sandbox),
  );
}
