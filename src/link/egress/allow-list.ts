import type { Net } from '../../skill/caps.ts';

/** The hosts of OpenVibe; their subdomains are too. */
const openVibeHosts: readonly string[] = [
  'openvibe.services',
  'openvibe.network',
  'openvibe.run',
  'openvibe.actor',
  'openvibe.media',
];

/** Whether a tool of this net may ask for a host, by its name alone: before anybody is asked where it is. */
export function isAllowedHost(net: Net, name: string): boolean {
  if (net === 'deny') return false;
  return net === 'public' || openVibeHosts.some((host) => name === host || name.endsWith(`.${host}`));
}
