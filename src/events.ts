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
  return {
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
    emit(name, event) {
      emitter.emit(name, event);
    },
    clear() {
      emitter.removeAllListeners();
    },
  };
}
