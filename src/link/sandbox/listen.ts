import type { ListenOptions, Server } from 'node:net';

/** Lets a server listen; answers its port, where it has one. */
export function listen(server: Server, where: ListenOptions): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    // It stays: a connection that could not be taken is no reason to end.
    server.on('error', reject).listen(where, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : undefined);
    });
  });
}
