import { BlockList, isIPv4 } from 'node:net';
import { networkInterfaces } from 'node:os';

type Subnet = readonly [address: string, prefix: number];

// The special-purpose registry of IANA (RFC 6890 and its updates), and one address that a cloud took for itself.
const special: readonly Subnet[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, metadata
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
  ['168.63.129.16', 32], // Azure's host agent
];

const reserved = new BlockList();
for (const [address, prefix] of special) reserved.addSubnet(address, prefix);

/**
 * Whether an address is one of the public internet of version 4 (Run's `public`), and none of this machine's own.
 * One of version 6 never is: it may be version 4 in disguise, and goes where the platform's nodes do not.
 *
 * @param own default the addresses of this machine's interfaces, as they are now
 */
export function isPublicAddress(address: string, own: readonly string[] = interfaceAddresses()): boolean {
  return isIPv4(address) && !reserved.check(address) && !own.includes(address);
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address));
}
