import type { Clock } from '../clock.ts';

/** A call of the API, by what it does. */
export type MockRoute = 'submit' | 'get' | 'list' | 'cancel' | 'ticket' | 'stream' | 'diagnostics' | 'offers';

/** Something that goes wrong between a client and Run. */
export type MockFault = {
  readonly on: MockRoute;
  /** How many calls it spoils. Default 1. */
  readonly times?: number;
} & (
  | {
      /** The connection breaks: the request never reached Run, or Run did its work and the answer is lost. */
      readonly kind: 'drop-before' | 'drop-after';
    }
  /** An answer without a problem's body, as a proxy would give. */
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string }
  /** The call waits so long on the mock's clock, then goes on. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** 200, and a body that is no answer of Run's. */
  | { readonly kind: 'garbage'; readonly body?: string }
  | { readonly kind: 'problem'; readonly status: number; readonly code: string; readonly detail?: string }
  /** The answer is cut off after so many pieces of its body. */
  | { readonly kind: 'cut'; readonly after: number }
);

/** The faults still to come. */
export interface MockFaults {
  add(fault: MockFault): void;
  take(route: MockRoute): MockFault | undefined;
}

export function createMockFaults(): MockFaults {
  const waiting: { fault: MockFault; left: number }[] = [];
  return {
    add: (fault) => void waiting.push({ fault, left: fault.times ?? 1 }),
    take(route) {
      const found = waiting.find(({ fault, left }) => fault.on === route && left > 0);
      if (found === undefined) return undefined;
      found.left -= 1;
      return found.fault;
    },
  };
}

/** What a client's fetch throws when the connection breaks. */
export function connectionLost(): TypeError {
  return new TypeError('fetch failed');
}

/** Answers a request with its fault. `run` is what Run itself would do. */
export async function answerFaulty(
  fault: MockFault,
  request: Request,
  clock: Clock,
  run: () => Promise<Response>,
): Promise<Response> {
  switch (fault.kind) {
    case 'drop-before':
      throw connectionLost();
    case 'drop-after':
      await (await run()).body?.cancel();
      throw connectionLost();
    case 'status':
      return new Response(null, {
        status: fault.status,
        headers: fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter },
      });
    case 'slow':
      await clock.sleep(fault.ms, request.signal);
      return run();
    case 'garbage':
      return new Response(fault.body ?? '<html>502</html>', { headers: { 'content-type': 'text/html' } });
    case 'problem': {
      const { status, code, detail } = fault;
      const problem = {
        type: 'about:blank',
        title: 'A problem on order',
        status,
        code,
        ...(detail && { detail }),
      };
      return new Response(JSON.stringify(problem), {
        status,
        headers: { 'content-type': 'application/problem+json' },
      });
    }
    case 'cut': {
      const response = await run();
      return new Response(response.body && cutOff(response.body, fault.after), response);
    }
  }
}

function cutOff(body: ReadableStream<Uint8Array>, after: number): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let left = after;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = left > 0 ? await reader.read() : { done: true, value: undefined };
      left -= 1;
      if (!done && value !== undefined) {
        controller.enqueue(value);
        return;
      }
      controller.error(connectionLost());
      await reader.cancel();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
