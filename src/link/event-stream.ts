import type { Clock } from '../clock.ts';
import type { JobEvent } from '../run/wire.ts';

/** Milliseconds between two comments that keep a quiet stream alive. */
const beatMs = 25_000;

/**
 * A job's events as `text/event-stream`. It reads on only when the client does, and lets go of the events
 * when the client goes away or they end.
 *
 * @param open called at once with the signal that ends the reading
 * @param onClose called once, when the stream is over
 */
export function eventStream(
  open: (signal: AbortSignal) => AsyncIterator<JobEvent, unknown>,
  options: { clock: Clock; signal: AbortSignal; onClose?: () => void },
): ReadableStream<Uint8Array> {
  const stop = new AbortController();
  const events = open(stop.signal);
  const encoder = new TextEncoder();
  let next: Promise<IteratorResult<JobEvent, unknown>> | undefined;
  let beat: Promise<undefined> | undefined;

  const close = (): void => {
    if (stop.signal.aborted) return;
    stop.abort();
    options.signal.removeEventListener('abort', close);
    options.onClose?.();
  };
  if (options.signal.aborted) close();
  else options.signal.addEventListener('abort', close);

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      next ??= events.next();
      beat ??= options.clock.sleep(beatMs, stop.signal).then(
        () => undefined,
        // Stopped: the events end as well, and they say so.
        () => new Promise<undefined>(() => {}),
      );
      const first = await Promise.race([next, beat]);
      if (first === undefined) {
        beat = undefined;
        controller.enqueue(encoder.encode(': still here\n\n'));
        return;
      }
      next = undefined;
      if (first.done === true) {
        close();
        controller.close();
        return;
      }
      const { seq, type } = first.value;
      controller.enqueue(
        encoder.encode(`id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify(first.value)}\n\n`),
      );
    },
    cancel: close,
  });
}
