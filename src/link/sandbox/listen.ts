import type { ListenOptions, Server } from 'node:net';

/** Lets a server listen; answers its port, where it has one. */
export function listen(server: Server, where: ListenOptions): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(where, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : undefined);
    });
  });
}
