import type { LocalLinkOptions } from './local-link.ts';
import { createSandboxedLink } from './local-link.ts';
import type { LocalRun, ServeOptions } from './serve-link.ts';
import { serveLink } from './serve-link.ts';

/** {@link startLocalRun}'s options. Code does not travel over the API: give `media`, or call `link.provide`. */
export interface LocalRunOptions extends LocalLinkOptions, ServeOptions {}

/**
 * Starts a local Link and Run's HTTP API over it, on 127.0.0.1 only. A caller needs the token, must be the
 * owner (`X-OV-Subject`), and may not be a page in a browser: a foreign Host or any Origin is refused.
 *
 * Its jobs and idempotency keys end with the process: to the next one the same key is new. So give the
 * `createRunService` of each its own `id`, such as `link.id`: a step that was sent to one that is gone is then
 * `outcome_unknown` rather than run again.
 *
 * Throws `option_invalid`; where the port is taken, the server's own error.
 */
export async function startLocalRun(options: LocalRunOptions): Promise<LocalRun> {
  return serveLink(createSandboxedLink(options), options.owner, options);
}
