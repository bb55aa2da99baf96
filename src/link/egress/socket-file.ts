import { chmod, chown, open } from 'node:fs/promises';
import type { Server } from 'node:net';
import { join } from 'node:path';

/** A server on a unix socket of the file system. */
export interface SocketFile {
  readonly path: string;
  /** The same as an address, short enough for any folder; good until it is closed, and in this process only. */
  readonly address: string;
  /** Stops listening; resolves when the server's last connection has ended. */
  close(): Promise<void>;
}

/**
 * Lets a server listen on a new socket in a folder, for one user alone.
 *
 * @param ids the user, where it is not our own
 */
export async function listenOnFile(
  server: Server,
  folder: string,
  ids: { uid?: number; gid?: number },
): Promise<SocketFile> {
  const path = join(folder, 'egress');
  // An address holds 107 bytes, a folder's path may have more: named by its descriptor, it always fits. Closing
  // the server removes the socket by that name, so the descriptor is ours until then.
  const handle = await open(folder);
  const address = `/proc/self/fd/${handle.fd}/egress`;
  try {
    await new Promise<void>((resolve, reject) => {
      // It stays: later ones, such as that of a connection for which there was no descriptor, end nothing.
      server.on('error', reject);
      server.listen({ path: address, exclusive: true }, resolve);
    });
    await chmod(path, 0o600);
    if (ids.uid !== undefined && ids.gid !== undefined) await chown(path, ids.uid, ids.gid);
  } catch (error) {
    server.close();
    await handle.close();
    throw error;
  }
  return {
    path,
    address,
    async close() {
      await new Promise((resolve) => server.close(resolve));
      await handle.close();
    },
  };
}
