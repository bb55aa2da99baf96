import type { Clock } from '../clock.ts';
import { isoTime } from '../clock.ts';
import type { JobEvent, JobState } from '../run/wire.ts';

/** The events of one job: the last ones are kept for who comes late. */
export interface JobLog {
  state(type: 'state' | 'end', state: JobState): void;
  /** A piece of the tool's stdout; best effort. */
  output(chunk: string): void;
  /**
   * What is kept after `after`, then what comes, up to the end event. Stops without an end when `signal` fires.
   * A number that this log never gave (a server's restart) reads from the start.
   */
  read(after: number, signal?: AbortSignal): AsyncGenerator<JobEvent, void, undefined>;
}

/** Pieces of output kept for one job. */
const keptOutputs = 64;
/** Characters of output kept for one job, and the most that one event may carry. */
const keptCharacters = 65_536;

export function createJobLog(jobId: string, clock: Clock): JobLog {
  const events: JobEvent[] = [];
  const waiting = new Set<() => void>();
  let seq = 0;

  const add = (
    event: { type: 'state' | 'end'; state: JobState } | { type: 'output'; chunk: string },
  ): void => {
    seq += 1;
    events.push({ ...event, job_id: jobId, seq, at: isoTime(clock.now()) });
    for (const wake of [...waiting]) wake();
  };

  const dropOldOutput = (): void => {
    let pieces = 0;
    let characters = 0;
    for (let at = events.length - 1; at >= 0; at -= 1) {
      const event = events[at];
      if (event?.type !== 'output') continue;
      pieces += 1;
      characters += event.chunk.length;
      if (pieces > keptOutputs || characters > keptCharacters) events.splice(at, 1);
    }
  };

  const changed = (signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      waiting.add(wake);
      signal?.addEventListener('abort', wake);
    });

  return {
    state: (type, state) => add({ type, state }),
    output(chunk) {
      add({ type: 'output', chunk: chunk.slice(0, keptCharacters).toWellFormed() });
      dropOldOutput();
    },
    async *read(after, signal) {
      const ended = events.at(-1)?.type === 'end';
      // Who asks again after the end hears the end again: a stream without one invites another try.
      let seen = ended && after === seq ? seq - 1 : after > seq ? 0 : after;
      while (signal?.aborted !== true) {
        const next = events.find((event) => event.seq > seen);
        if (next === undefined) {
          await changed(signal);
          continue;
        }
        seen = next.seq;
        yield next;
        if (next.type === 'end') return;
      }
    },
  };
}
