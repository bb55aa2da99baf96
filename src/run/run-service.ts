import { systemClock } from '../clock.ts';
import { createRunClient, type RunClientOptions } from './client.ts';
import { followJob } from './follow.ts';
import type { NodeDirectory } from './nodes.ts';
import type { RunService } from './service.ts';

/** How a Run and its nodes are reached. */
export interface RunServiceOptions extends RunClientOptions {
  nodes: NodeDirectory;
  /** Stands in the records of steps, so keep it over restarts. Default `run:` and the base URL's host. */
  id?: string | undefined;
}

/** A Run over HTTP as the gateway's port. Throws `option_invalid`. */
export function createRunService(options: RunServiceOptions): RunService {
  const client = createRunClient(options);
  const clock = options.clock ?? systemClock;
  const { nodes } = options;
  return {
    id: options.id ?? `run:${new URL(options.baseUrl ?? 'https://openvibe.run').host}`,
    submit: client.submit,
    get: client.get,
    cancel: client.cancel,
    diagnostics: client.diagnostics,
    follow: (jobId, followOptions) => followJob(client, clock, jobId, followOptions),
    nodes: (context, nodeOptions) => nodes.nodes(context, nodeOptions),
  };
}
