import type { Socket } from 'node:net';

/** How a proxy reaches the internet. Tests bring their own; nothing that a job or an option says can. */
export interface Outside {
  /** The addresses of a name, in the order in which to try them; empty when there are none. */
  resolve(name: string): Promise<readonly string[]>;
  /** Starts a connection to an address that was checked. */
  dial(address: string, port: number): Socket;
}
