import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

type Subnet = readonly [address: string, prefix: number];

// The special-purpose registry of IANA (RFC 6890 and its updates), and one address that a cloud took for itself.
const reserved4: readonly Subnet[] = [
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

// All that is public lies in 2000::/3. That leaves out mapped and compatible IPv4, NAT64, unique local,
// link-local, site-local and multicast addresses, and whatever is not given out yet.
const global6: Subnet = ['2000::', 3];
const reserved6: readonly Subnet[] = [
  ['2001::', 23], // Teredo, benchmarks, ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: an IPv4 address in disguise
  ['3fff::', 20], // documentation
];

const reserved = new BlockList();
for (const [address, prefix] of reserved4) reserved.addSubnet(address, prefix, 'ipv4');
for (const [address, prefix] of reserved6) reserved.addSubnet(address, prefix, 'ipv6');
const global = new BlockList();
global.addSubnet(...global6, 'ipv6');

/**
 * Whether an address is one of the public internet, and none of this machine's own.
 *
 * @param own default the addresses of this machine's interfaces, as they are now
 */
export function isPublicAddress(address: string, own: readonly string[] = interfaceAddresses()): boolean {
  const mine = new BlockList();
  for (const one of own) if (isAddress(one)) mine.addAddress(one, isIPv4(one) ? 'ipv4' : 'ipv6');
  if (isIPv4(address)) return !reserved.check(address, 'ipv4') && !mine.check(address, 'ipv4');
  if (!isAddress(address)) return false;
  return global.check(address, 'ipv6') && !reserved.check(address, 'ipv6') && !mine.check(address, 'ipv6');
}

// Without a zone: an address that needs one is not public.
function isAddress(text: string): boolean {
  return isIPv4(text) || (isIPv6(text) && !text.includes('%'));
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address));
}
