import type { Socket } from 'node:net';

const patienceMs = 5000;
const maxDials = 3;

/**
 * Dials one address after the other until one answers.
 *
 * @param dial starts a connection
 * @param isOver whether nobody waits for it any more
 * @returns `undefined` where none of the first three answered in time
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
  }
  return undefined;
}

function connects(socket: Socket): Promise<boolean> {
  return new Promise((resolve) => {
    const giveUp = (): void => void socket.destroy();
    socket.setTimeout(patienceMs, giveUp);
    socket.once('close', () => resolve(false)).once('error', giveUp);
    socket.once('connect', () => {
      socket.setTimeout(0, giveUp);
      resolve(true);
    });
  });
}
