import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as NodeReadableStream } from 'node:stream/web';

/** Most of a body that is read and dropped after its answer, in bytes. */
const maxDropped = 8_388_608;

/** A server on this machine's loopback address. */
export interface Listening {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Stops at once: open answers are cut. */
  close(): Promise<void>;
}

/**
 * Serves a web-standard handler over node:http, on 127.0.0.1 only.
 *
 * The request's signal fires when the client goes away. A handler that rejects cuts the connection without
 * an answer.
 *
 * @param port 0, the default, takes a free one
 */
export async function listenOnLoopback(
  handler: (request: Request) => Promise<Response>,
  port = 0,
): Promise<Listening> {
  let origin = '';
  const server = createServer(
    {
      requestTimeout: 30_000,
      headersTimeout: 10_000,
      // By default the two are looked at every 30 s, and a stranger's idle connections stay as long.
      connectionsCheckingInterval: 1000,
      maxHeaderSize: 16_384,
    },
    (incoming, outgoing) => void serve(handler, origin, incoming, outgoing),
  );
  server.maxConnections = 256;
  server.listen({ host: '127.0.0.1', port });
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: origin, close: () => closeServer(server) };
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

async function serve(
  handler: (request: Request) => Promise<Response>,
  origin: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  try {
    const request = toRequest(incoming, origin, gone.signal);
    await send(await handler(request), outgoing);
  } catch {
    outgoing.destroy();
  }
  // What the handler left of the body is read and dropped, so that the answer arrives. A flood is cut off: a
  // stranger without a token would keep this process busy with it for as long as requestTimeout lets him.
  let left = maxDropped;
  incoming
    .removeAllListeners('data')
    .on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) incoming.destroy();
    })
    .resume();
}

function toRequest(incoming: IncomingMessage, origin: string, signal: AbortSignal): Request {
  const path = incoming.url ?? '';
  // Only a path: an absolute or `//host` target would make another origin of it.
  const url = new URL(/^\/(?!\/)/.test(path) ? `${origin}${path}` : `${origin}/`);
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    headers.set(name, Array.isArray(value) ? value.join(', ') : (value ?? ''));
  }
  const method = incoming.method ?? 'GET';
  if (method === 'GET' || method === 'HEAD') return new Request(url, { method, headers, signal });
  const init: RequestInit & { duplex: 'half' } = {
    method,
    headers,
    signal,
    body: bodyOf(incoming),
    duplex: 'half',
  };
  return new Request(url, init);
}

// Not Readable.toWeb: cancelling that destroys the socket, and a refused body would get no answer.
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  let cancelled = false;
  return new ReadableStream<Uint8Array>({
    start(controller) {
      incoming.pause();
      incoming.on('data', (chunk: Uint8Array) => {
        if (!cancelled) controller.enqueue(new Uint8Array(chunk));
        incoming.pause();
      });
      incoming.once('end', () => {
        if (!cancelled) controller.close();
      });
      incoming.once('error', (error) => controller.error(error));
    },
    pull() {
      incoming.resume();
    },
    cancel() {
      cancelled = true;
    },
  });
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    outgoing.end();
    return;
  }
  outgoing.flushHeaders();
  await pipeline(Readable.fromWeb(response.body as NodeReadableStream<Uint8Array>), outgoing);
}
