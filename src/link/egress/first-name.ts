import type { Socket } from 'node:net';

/** What the first bytes of a connection say about the host that is meant, so far. */
export type FirstName = { state: 'unfinished' } | { state: 'named'; name: string } | { state: 'refused' };

/** Longest opening that is waited for, in bytes. */
export const maxOpening = 16_384;

export const unfinished: FirstName = { state: 'unfinished' };
export const refused: FirstName = { state: 'refused' };

/**
 * Waits for the first bytes of a connection until `read` finds the name in them, and puts them back, so that the
 * connection can be handed on as if nobody had looked.
 *
 * @returns `undefined` where they are refused, or the connection ends before
 */
export function firstName(socket: Socket, read: (bytes: Buffer) => FirstName): Promise<string | undefined> {
  return new Promise((resolve) => {
    let held = Buffer.alloc(0);
    const settle = (name?: string): void => {
      socket.off('data', take).off('end', gone).off('close', gone).pause();
      resolve(name);
    };
    const take = (chunk: Buffer): void => {
      held = Buffer.concat([held, chunk]);
      const found = read(held);
      if (found.state === 'unfinished') return;
      settle(found.state === 'named' ? found.name : undefined);
      socket.unshift(held);
    };
    const gone = (): void => settle();
    socket.on('data', take).once('end', gone).once('close', gone);
    if (socket.destroyed) gone();
  });
}
