import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Clock } from '../clock.ts';
import { forbiddenResultKeys, parseJson } from '../skill/json.ts';
import { invalidAnswer } from './body.ts';
import { withDeadline } from './deadline.ts';
import { RunUnreachable } from './unreachable.ts';
import type { JobEvent } from './wire.ts';
import { jobEventSchema } from './wire-schemas.ts';

/** One event of a job's stream, with the id to resume after it. */
export interface StreamEvent {
  /** For `Last-Event-ID`; `undefined` where the frame had none that is a sequence number. */
  readonly id: string | undefined;
  readonly event: JobEvent;
}

/** What a stream is read with. */
export interface StreamOptions {
  readonly clock: Clock;
  readonly jobId: string;
  readonly signal?: AbortSignal | undefined;
}

// A Run comments every 25 s, so a stream without one whole frame or comment for this long is dead.
// Single bytes do not count: they would keep a stream open that never says anything.
const idleMs = 60_000;
// A chunk has at most 65536 characters, of which each may be escaped to twelve: two halves of a pair.
const maxFrameLength = 65_536 * 12 + 4096;
const maxStreamBytes = 4_194_304;

/**
 * The events of one connection, until it ends. A frame that is no event of this job is passed over:
 * events are hints. Rejects with `run_answer_invalid` when a frame or the whole stream is too long,
 * `run_unreachable` when it breaks or stays silent, `aborted`. Ending the iteration closes it.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  { clock, jobId, signal }: StreamOptions,
): AsyncGenerator<StreamEvent, void, undefined> {
  const what = `the stream of ${jobId}`;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const frames: EventSourceMessage[] = [];
  let heardAt = clock.now();
  let bytes = 0;
  let overlong = false;
  const hear = (): void => {
    heardAt = clock.now();
  };
  const parser = createParser({
    maxBufferSize: maxFrameLength,
    onEvent: (frame) => {
      hear();
      // The parser bounds what it holds back, not a frame that one chunk brings whole.
      if (frame.data.length > maxFrameLength) overlong = true;
      else frames.push(frame);
    },
    onComment: hear,
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') overlong = true;
    },
  });
  try {
    for (;;) {
      const ms = Math.max(0, heardAt + idleMs - clock.now());
      const late = (): Error => new RunUnreachable(what, 1, `silent for ${idleMs} ms`);
      const { done, value } = await withDeadline({ clock, ms, signal, late }, () =>
        reader.read().catch(() => {
          throw new RunUnreachable(what, 1, 'the connection broke');
        }),
      );
      if (done) return;
      bytes += value.byteLength;
      if (bytes <= maxStreamBytes) parser.feed(decoder.decode(value, { stream: true }));
      if (overlong || bytes > maxStreamBytes) throw invalidAnswer(what, 'is too long');
      for (const frame of frames.splice(0)) {
        const event = eventOf(frame.data, jobId);
        if (event !== undefined) yield { id: sequence(frame.id), event };
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function eventOf(data: string, jobId: string): JobEvent | undefined {
  const parsed = parseJson(data, { maxLength: maxFrameLength, maxDepth: 4, forbidden: forbiddenResultKeys });
  const read = parsed.ok ? jobEventSchema.safeParse(parsed.value) : undefined;
  return read?.success && read.data.job_id === jobId ? read.data : undefined;
}

// Goes back to the service in a header: nothing but a number does.
function sequence(id: string | undefined): string | undefined {
  return id !== undefined && /^\d{1,15}$/.test(id) ? id : undefined;
}
