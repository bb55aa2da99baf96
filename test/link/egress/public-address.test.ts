import { networkInterfaces } from 'node:os';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPublicAddress } from '../../../src/link/egress/public-address.ts';

const isPublic = (address: string): boolean => isPublicAddress(address, []);

describe('a public address', () => {
  it.each(['93.184.215.14', '1.1.1.1', '172.15.255.255', '172.32.0.0', '100.128.0.0'])(
    '%s is one',
    (address) => {
      expect(isPublic(address)).toBe(true);
    },
  );

  it.each([
    ...['0.0.0.0', '0.1.2.3', '10.1.2.3', '100.64.0.1', '100.100.100.200', '127.0.0.1', '127.255.255.254'],
    ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.192', '192.0.2.1', '192.88.99.1'],
    ...['192.168.1.1', '198.18.0.1', '198.19.255.255', '198.51.100.1', '203.0.113.1', '224.0.0.1'],
    ...['239.255.255.255', '240.0.0.1', '255.255.255.255', '168.63.129.16'],
    ...['::', '::1', '::ffff:93.184.215.14', '::ffff:127.0.0.1', '::93.184.215.14', '64:ff9b::5db8:d70e'],
    ...['64:ff9b:1::1', '100::1', '2001::1', '2001:0:53aa:64c:0:fbff:0:0', '2001:2::1', '2001:20::1'],
    ...[
      '2606:4700::1111',
      '2a00::1',
      '2001:db8::1',
      '2002:5db8:d70e::1',
      '3fff::1',
      '5f00::1',
      'fc00::1',
      'fd00:ec2::254',
      'fe80::1',
    ],
    ...['fe80::1%eth0', '2606:4700::1111%eth0', 'fec0::1', 'ff02::1'],
    ...['', 'example.com', '127.1', '0x7f.1', '2130706433', '[2606:4700::1111]', '1.1.1.1 ', '1.1.1.1\0'],
  ])('%s is none', (address) => {
    expect(isPublic(address)).toBe(false);
  });

  it("is none of this machine's own", () => {
    expect(isPublicAddress('93.184.215.14', ['93.184.215.14'])).toBe(false);
    expect(isPublicAddress('93.184.215.15', ['93.184.215.14'])).toBe(true);
    for (const { address } of Object.values(networkInterfaces()).flatMap((list) => list ?? [])) {
      expect(isPublicAddress(address)).toBe(false);
    }
  });

  const octet = fc.integer({ min: 0, max: 255 });
  const quad = fc.tuple(octet, octet, octet, octet);

  it('is, of version 4, what the table of special addresses leaves', () => {
    fc.assert(
      fc.property(
        fc.oneof(quad, fc.tuple(fc.constantFrom(10, 100, 127, 169, 172, 192, 198, 203), octet, octet, octet)),
        ([a, b, c, d]) => {
          const special =
            [0, 10, 127].includes(a) ||
            a >= 224 ||
            (a === 100 && b >= 64 && b < 128) ||
            (a === 169 && b === 254) ||
            (a === 172 && b >= 16 && b < 32) ||
            (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99))) ||
            (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) ||
            (a === 203 && b === 0 && c === 113) ||
            (a === 168 && b === 63 && c === 129 && d === 16);
          expect(isPublic([a, b, c, d].join('.'))).toBe(!special);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is never a version 4 address in one of version 6', () => {
    const hex = (high: number, low: number): string => (high * 256 + low).toString(16);
    fc.assert(
      fc.property(quad, ([a, b, c, d]) => {
        const [high, low] = [hex(a, b), hex(c, d)];
        const shapes = [
          `::ffff:${a}.${b}.${c}.${d}`,
          `::ffff:${high}:${low}`,
          `::ffff:0:${high}:${low}`,
          `::${high}:${low}`,
          `64:ff9b::${high}:${low}`,
          `64:ff9b:1::${high}:${low}`,
          `2002:${high}:${low}::1`,
          `2001:0:${high}:${low}::1`,
        ];
        for (const address of shapes) expect(isPublic(address)).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it('is never one of version 6', () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
        expect(isPublic(groups.map((one) => one.toString(16)).join(':'))).toBe(false);
      }),
      { numRuns: 500 },
    );
  });
});
