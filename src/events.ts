import { EventEmitter } from 'eventemitter3';

/** What a subscription returns: call it, or dispose of it, to stop listening. */
export interface Subscription extends Disposable {
  (): void;
}

/** A listener that threw, and the event it threw on. */
export interface ListenerFault {
  event: string;
  error: unknown;
}

/** Typed events in which one throwing listener starves nobody and fails nothing. */
export interface Events<Map extends object> {
  on<Name extends keyof Map & string>(name: Name, listener: (event: Map[Name]) => void): Subscription;
  /** The events from now on; ends when `signal` fires or the loop is left. At most 1000 wait to be read. */
  iterate<Name extends keyof Map & string>(name: Name, signal: AbortSignal): AsyncIterableIterator<Map[Name]>;
  emit<Name extends keyof Map & string>(name: Name, event: Map[Name]): void;
  clear(): void;
}

/**
 * @param onFault hears of each listener that threw (or whose promise rejected); a fault of its own is dropped
 */
export function createEvents<Map extends object>(onFault: (fault: ListenerFault) => void): Events<Map> {
  const emitter = new EventEmitter();
  const report = (event: string, error: unknown): void => {
    try {
      onFault({ event, error });
    } catch {
      // Nobody is left to tell.
    }
  };
  const events: Events<Map> = {
    on(name, listener) {
      const guarded = (event: unknown): void => {
        try {
          const answer: unknown = listener(event as never);
          if (answer instanceof Promise) answer.catch((error: unknown) => report(name, error));
        } catch (error) {
          report(name, error);
        }
      };
      emitter.on(name, guarded);
      const stop = (): void => void emitter.off(name, guarded);
      return Object.assign(stop, { [Symbol.dispose]: stop });
    },
    iterate(name, signal) {
      return iterate((listener) => events.on(name, listener), signal);
    },
    emit(name, event) {
      emitter.emit(name, event);
    },
    clear() {
      emitter.removeAllListeners();
    },
  };
  return events;
}

const maxWaiting = 1000;

// The subscription starts with the call, not with the first read, so that nothing between the two is lost.
function iterate<T>(
  subscribe: (listener: (event: T) => void) => Subscription,
  signal: AbortSignal,
): AsyncIterableIterator<T> {
  const waiting: T[] = [];
  const readers: ((result: IteratorResult<T>) => void)[] = [];
  let done = signal.aborted;
  const stop = subscribe((event) => {
    const reader = readers.shift();
    if (reader !== undefined) {
      reader({ done: false, value: event });
      return;
    }
    if (waiting.length >= maxWaiting) waiting.shift();
    waiting.push(event);
  });
  const end = (): void => {
    done = true;
    stop();
    for (const reader of readers.splice(0)) reader({ done: true, value: undefined });
  };
  if (done) stop();
  else signal.addEventListener('abort', end, { once: true });
  return {
    async next() {
      if (waiting.length > 0) return { done: false, value: waiting.shift() as T };
      if (done) return { done: true, value: undefined };
      return new Promise((resolve) => void readers.push(resolve));
    },
    async return() {
      signal.removeEventListener('abort', end);
      waiting.length = 0;
      end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
