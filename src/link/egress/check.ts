import type { Net } from '../../skill/caps.ts';
import { isAllowedHost } from './allow-list.ts';
import { readServerName } from './client-hello.ts';
import type { FirstName } from './first-name.ts';
import { readHostName } from './host-name.ts';
import type { Outside } from './outside.ts';
import { isPublicAddress } from './public-address.ts';
import { readRequestHost } from './request-head.ts';

/** Where a connection may go. */
export interface Destination {
  /** Lower case. */
  readonly name: string;
  readonly port: number;
  /** Reads, out of the connection's first bytes, the name that must be the same. */
  readonly read: (bytes: Buffer) => FirstName;
}

// What a connection says inside TLS cannot be seen; what it says after its first request on port 80 is left alone
// alike. The address is what was checked, and the first name is what shows that it is meant.
const readers: Readonly<Record<string, (bytes: Buffer) => FirstName>> = {
  443: readServerName,
  80: readRequestHost,
};

/** Reads an authority, such as `example.com:443`; `undefined` where a tool of this net may not ask for it. */
export function readDestination(authority: string, net: Net): Destination | undefined {
  const [, host = '', port = ''] = /^([^:]+):(80|443)$/.exec(authority) ?? [];
  const name = readHostName(host);
  const read = readers[port];
  if (name === undefined || read === undefined || !isAllowedHost(net, name)) return undefined;
  return { name, port: Number(port), read };
}

/**
 * Asks once where a name is. One answer that is not public spoils all: whoever gives it out would otherwise
 * choose which of them is dialled.
 *
 * @returns the addresses to dial, none where the name may not be reached
 */
export async function checkedAddresses(name: string, outside: Outside): Promise<readonly string[]> {
  try {
    const answers = await outside.resolve(name);
    return answers.every((answer) => isPublicAddress(answer)) ? answers : [];
  } catch {
    return [];
  }
}
