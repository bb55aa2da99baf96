import type { Clock } from '../clock.ts';
import { isSkillRunError } from '../errors.ts';
import type { RunClient } from './client.ts';
import { RunProblem } from './problem.ts';
import { backoffMs } from './retry-delay.ts';
import type { RunContext } from './service.ts';
import type { Wake } from './wake.ts';
import type { StreamTicket } from './wire.ts';

/** The calls that a job is followed with. */
export type FollowClient = Pick<RunClient, 'get' | 'stream' | 'streamTicket'>;

const maxConnections = 5;

/**
 * Rings each time a job's stream says that its state changed, or breaks. Nothing that the stream says
 * is handed on, and output is dropped. Settles when the stream told of an end, was refused, or broke
 * too often; reconnects resume after the last event, whose numbers may start again.
 */
export async function watchStream(
  client: FollowClient,
  clock: Clock,
  jobId: string,
  context: RunContext,
  wake: Wake,
): Promise<void> {
  let lastEventId: string | undefined;
  for (let connection = 1; connection <= maxConnections; connection += 1) {
    try {
      const ticket = await ticketFor(client, jobId, context);
      const events = await client.stream(jobId, { ...context, lastEventId, ticket });
      wake.streaming = true;
      for await (const { id, event } of events) {
        lastEventId = id ?? lastEventId;
        if (event.type !== 'output') wake.ring();
        if (event.type === 'end') return;
      }
    } catch (error) {
      if (!isSkillRunError(error) || !error.retryable || isStreamRefusal(error)) return;
    } finally {
      if (wake.streaming) wake.ring();
      wake.streaming = false;
    }
    await clock.sleep(backoffMs(connection), context.signal);
  }
}

// A Run that gives no tickets may still take the token.
async function ticketFor(
  client: FollowClient,
  jobId: string,
  context: RunContext,
): Promise<StreamTicket | undefined> {
  try {
    return await client.streamTicket(jobId, context);
  } catch (error) {
    if (isStreamRefusal(error) || context.signal?.aborted) throw error;
    return undefined;
  }
}

function isStreamRefusal(error: unknown): boolean {
  return error instanceof RunProblem && error.problem.startsWith('run.stream.');
}
