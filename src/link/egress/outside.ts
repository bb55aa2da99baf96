import { Resolver } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';

/** How a proxy reaches the internet. Tests bring their own; nothing that a job or an option says can. */
export interface Outside {
  /** The addresses of a name, in the order in which to try them; empty when there are none. */
  resolve(name: string): Promise<readonly string[]>;
  /** Starts a connection to an address that was checked. */
  dial(address: string, port: number): Socket;
}

/** The internet: DNS as this machine is told to ask it, without its hosts file, and TCP. */
export const internet: Outside = {
  async resolve(name) {
    const resolver = new Resolver({ timeout: 2000, tries: 2 });
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  },
  dial: (address, port) => connect({ host: address, port }),
};
