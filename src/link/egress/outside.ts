import { Resolver } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';

/** How a proxy reaches the internet. Tests bring their own; nothing that a job or an option says can. */
export interface Outside {
  /** The IPv4 addresses of a name, in the order in which to try them; empty when there are none. */
  resolve(name: string): Promise<readonly string[]>;
  /** Starts a connection to an address that was checked. */
  dial(address: string, port: number): Socket;
}

/** The internet of version 4, as on the platform's nodes: DNS as this machine is told to ask it, and TCP. */
export const internet: Outside = {
  // Of DNS alone: this machine's hosts file is none of a tool's business.
  resolve: (name) => new Resolver({ timeout: 2000, tries: 2 }).resolve4(name),
  dial: (address, port) => connect({ host: address, port }),
};
