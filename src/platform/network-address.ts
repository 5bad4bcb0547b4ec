import { BlockList, isIPv6 } from 'node:net';

/** Every range of the IANA special-purpose registries that is not globally reachable, and multicast. */
const REFUSED_V4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];
const REFUSED_V6: readonly (readonly [string, number])[] = [
  ['::', 96],
  // NAT64 reaches IPv4 by another way than the one that was checked: nobody names a public host like that.
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['100:0:0:1::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

const refused = new BlockList();
for (const [network, bits] of REFUSED_V4) refused.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of REFUSED_V6) refused.addSubnet(network, bits, 'ipv6');

/** Whether an IP address is one that nobody outside may make this service speak to. BlockList unwraps IPv4-mapped addresses. */
export function isRefusedAddress(address: string): boolean {
  const bare = address.split('%')[0] ?? address;
  return refused.check(bare, isIPv6(bare) ? 'ipv6' : 'ipv4');
}
