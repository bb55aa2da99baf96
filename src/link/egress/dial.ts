import type { Socket } from 'node:net';

const patienceMs = 5000;
const maxDials = 3;

/**
 * Dials one address after the other until one answers.
 *
 * @param dial starts a connection
 * @param isOver whether nobody waits for it any more
 * @returns a paused socket; `undefined` where none of the first three answered in time
 */
export async function dialFirst(
  addresses: readonly string[],
  dial: (address: string) => Socket,
  isOver: () => boolean,
): Promise<Socket | undefined> {
  for (const address of addresses.slice(0, maxDials)) {
    if (isOver()) return undefined;
    const socket = dial(address);
    if (await connects(socket)) return socket;
    socket.destroy();
  }
  return undefined;
}

function connects(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    socket.setTimeout(patienceMs, () => resolve(false));
    socket.once('connect', () => resolve(true)).once('close', () => resolve(false));
    // `close` follows it.
    socket.on('error', () => undefined);
  });
}
