import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Net } from '../../skill/caps.ts';
import { checkedAddresses, readDestination } from './check.ts';
import { dialFirst } from './dial.ts';
import { firstName } from './first-name.ts';
import type { Outside } from './outside.ts';
import { listenOnFile } from './socket-file.ts';
import { maxTargets, newTarget, type OpenTarget, type Target } from './targets.ts';

/** The one way out of a sandbox: the proxy of one job. It drops every connection until it is armed. */
export interface Egress {
  /** Its unix socket on the host. */
  readonly path: string;
  /** What the tool asked for, in its order; goes on changing until the proxy is closed. */
  readonly targets: readonly Target[];
  /** Whether it drops a connection, as it must until it is armed. */
  isShut(): Promise<boolean>;
  /** Lets the sandbox's one job out, to what its net allows. */
  arm(net: Net): void;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** Most bytes of a job's connections, both ways together. */
export const maxBytes = 16_777_216;
/** Most connections of a job at once. */
export const maxConnections = 32;

const headMs = 5000;
const idleMs = 30_000;

/**
 * Opens the proxy of one job, which may still have to come: HTTP CONNECT on a unix socket, to what the net it is
 * armed with allows and to nothing else.
 *
 * @param folder a fresh folder in which the socket is made
 * @param ids the user who may connect, where it is not our own
 */
export async function openEgress(
  folder: string,
  outside: Outside,
  ids: { uid?: number; gid?: number } = {},
): Promise<Egress> {
  const targets: OpenTarget[] = [];
  const sockets = new Set<Socket>();
  let total = 0;
  let armed: Net = 'deny';

  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.once('close', () => sockets.delete(socket)).on('error', () => socket.destroy());
  };
  const closeAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  // To be called before the bytes are piped on, so that those beyond the cap are not.
  const count = (socket: Socket, target: OpenTarget): void => {
    socket.on('data', (chunk: Buffer) => {
      target.bytes += chunk.length;
      total += chunk.length;
      if (total > maxBytes) closeAll();
    });
  };

  const serve = async (client: Socket, authority: string, version: string): Promise<void> => {
    if (targets.length >= maxTargets || total > maxBytes) return refuse(client, '429 Too Many Requests');
    const target = newTarget(authority);
    targets.push(target);
    if (version !== '1.1') return refuse(client, '505 HTTP Version Not Supported');
    const destination = readDestination(authority, armed);
    if (destination === undefined) return refuse(client, '403 Forbidden');
    const { name, port, read } = destination;
    const addresses = await checkedAddresses(name, outside);
    if (addresses.length === 0) return refuse(client, '403 Forbidden');
    target.allowed = true;
    const dial = (address: string): Socket => keep(outside.dial(address, port));
    const remote = await dialFirst(addresses, dial, () => client.destroyed);
    if (remote === undefined) return refuse(client, '502 Bad Gateway');
    for (const socket of [client, remote]) socket.setTimeout(idleMs, () => socket.destroy());
    remote.once('close', () => client.destroySoon());
    if (client.destroyed) remote.destroy();
    client.once('close', () => remote.destroy());
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    // Nothing of the tool's goes out before.
    if ((await firstName(client, read))?.toLowerCase() !== name) {
      target.allowed = false;
      client.destroy();
      return;
    }
    count(client, target);
    count(remote, target);
    client.pipe(remote);
    remote.pipe(client);
  };

  // The sandbox, and not its way out, keeps the host's process alive.
  const server = createServer({
    maxHeaderSize: 8192,
    headersTimeout: headMs,
    requestTimeout: headMs,
    connectionsCheckingInterval: 1000,
  }).unref();
  server.maxConnections = maxConnections;
  server.on('connection', (socket: Socket) => {
    keep(socket);
    if (armed === 'deny') socket.destroy();
  });
  server.on('request', (_request, response) => response.writeHead(405, { connection: 'close' }).end());
  server.on('connect', (request, client: Socket, head) => {
    if (head.length > 0) client.unshift(head);
    serve(client, request.url ?? '', request.httpVersion).catch(() => client.destroy());
  });
  const file = await listenOnFile(server, folder, ids);
  return {
    path: file.path,
    targets,
    isShut: () => dropsAt(file.address),
    arm(net) {
      armed = net;
    },
    async close() {
      const closed = file.close();
      closeAll();
      await closed;
    },
  };
}

// One that it kept would have 405 for an answer, and nobody's target is on the record for that.
function dropsAt(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    let kept = false;
    const isKept = (): void => {
      kept = true;
      socket.destroy();
    };
    socket.setTimeout(headMs, isKept).once('data', isKept);
    socket.on('error', () => undefined).once('close', () => resolve(!kept));
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  });
}

function refuse(client: Socket, status: string): void {
  client.end(`HTTP/1.1 ${status}\r\n\r\n`, () => client.destroy());
}
