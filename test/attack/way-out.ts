import type { Socket } from 'node:net';
import type { Outside } from '../../src/link/egress/outside.ts';
import { buildWorld, somewhere } from '../link/egress/world.ts';

/** An internet for hostile programs, in which two hosts may be asked for pages and nothing else is to happen. */
export interface WayOut {
  readonly outside: Outside;
  /** What was dialled, asked for or kept that should not have been; empty as it should be. */
  strayed(): string[];
  /** Connections that are open now. */
  open(): number;
  close(): Promise<void>;
}

const allowed = ['site.example.com', 'api.openvibe.run'];

/** Lays it out on loopback. */
export async function layWayOut(): Promise<WayOut> {
  const world = await buildWorld((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://here');
    request.resume();
    if (pathname === '/hang' || pathname === '/sink') return;
    if (pathname === '/flood') {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', more);
      return more();
    }
    const location = searchParams.get('to');
    if (location === null) response.end('Hello');
    else response.writeHead(302, { location }).end();
  });
  for (const name of [...allowed, 'evil.org', 'other.example.org']) world.names.set(name, [[somewhere]]);
  world.names.set('inner.example.org', [['127.0.0.1']]);
  world.names.set('mixed.example.org', [[somewhere, '127.0.0.1']]);
  world.names.set('mixed6.example.org', [[somewhere, '::ffff:127.0.0.1']]);
  const open = new Set<Socket>();
  return {
    outside: {
      resolve: (name) => world.outside.resolve(name),
      dial(address, port) {
        const socket = world.outside.dial(address, port);
        open.add(socket);
        return socket.once('close', () => open.delete(socket));
      },
    },
    strayed: () => [
      ...world.requests.filter((one) => !allowed.some((host) => one.startsWith(`${host}/`))),
      ...world.dialled.filter((one) => !/^93\.184\.215\.14 (80|443)$/.test(one)),
    ],
    open: () => open.size,
    close: () => world[Symbol.asyncDispose]() as Promise<void>,
  };
}
