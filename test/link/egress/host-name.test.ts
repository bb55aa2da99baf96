import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isAllowedHost } from '../../../src/link/egress/allow-list.ts';
import { readHostName } from '../../../src/link/egress/host-name.ts';

describe('a host name', () => {
  it.each([
    ['example.com', 'example.com'],
    ['A.Example.COM', 'a.example.com'],
    ['xn--mnchen-3ya.de', 'xn--mnchen-3ya.de'],
    ['a.xn--p1ai', 'a.xn--p1ai'],
    ['1.example.com', '1.example.com'],
    [`${'a'.repeat(63)}.com`, `${'a'.repeat(63)}.com`],
  ])('%s is taken', (text, name) => {
    expect(readHostName(text)).toBe(name);
  });

  it.each([
    ['dotted IPv4', '93.184.215.14'],
    ['decimal IPv4', '2130706433'],
    ['hexadecimal IPv4', '0x7f000001'],
    ['octal IPv4', '0177.0.0.1'],
    ['mixed IPv4', '0x7f.0.0x0.1'],
    ['short IPv4', '127.1'],
    ['IPv4 with a name before', 'a.127.0.0.1'],
    ['IPv6', '::1'],
    ['IPv6 in brackets', '[::1]'],
    ['full-width digits', '１２７.0.0.1'],
    ['localhost', 'localhost'],
    ['a name under localhost', 'a.localhost'],
    ['mDNS', 'printer.local'],
    ['a private zone', 'metadata.google.internal'],
    ['an onion', 'a.onion'],
    ['one label', 'intranet'],
    ['a trailing dot', 'example.com.'],
    ['a leading dot', '.example.com'],
    ['two dots', 'example..com'],
    ['userinfo', 'user@example.com'],
    ['NUL', 'example.com\0.evil.com'],
    ['a space', 'example.com '],
    ['a line break', 'example.com\r\n'],
    ['a percent escape', 'example%2ecom'],
    ['an underscore', '_dmarc.example.com'],
    ['a hyphen at an end', 'a-.example.com'],
    ['a slash', 'example.com/a'],
    ['another script', 'еxample.com'],
    ['a letter that is ASCII in lower case', '\u212a.example.com'],
    ['a dot of another script', 'example。com'],
    ['a label that is too long', `${'a'.repeat(64)}.com`],
    ['a name that is too long', `${'a.'.repeat(126)}com`],
    ['nothing', ''],
  ])('%s is refused', (_, text) => {
    expect(readHostName(text)).toBeUndefined();
  });

  it('is lower-case ASCII of two labels or more and never an address, whatever was written', () => {
    const piece = fc.oneof(
      fc.constantFrom('.', '-', '0x7f', '127', 'com', 'localhost', '@', '\0', '[', ':', '%', 'É', '\u212a'),
      fc.string({ maxLength: 4, unit: 'binary' }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const name = readHostName(pieces.join(''));
        if (name === undefined) return;
        expect(name).toMatch(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/);
        expect(name).toBe(pieces.join('').toLowerCase());
        expect(isIP(new URL(`http://${name}`).hostname)).toBe(0);
        expect(new URL(`http://${name}`).hostname).toBe(name);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the OpenVibe hosts', () => {
  it.each([
    'openvibe.services',
    'openvibe.network',
    'openvibe.run',
    'openvibe.actor',
    'openvibe.media',
    'api.openvibe.run',
    'a.b.openvibe.media',
  ])('%s is one', (name) => {
    expect(isAllowedHost('openvibe-only', name)).toBe(true);
  });

  it.each(['notopenvibe.run', 'openvibe.run.evil.com', 'openvibe.com', 'run', 'xopenvibe.services'])(
    '%s is none',
    (name) => {
      expect(isAllowedHost('openvibe-only', name)).toBe(false);
      expect(isAllowedHost('public', name)).toBe(true);
      expect(isAllowedHost('deny', name)).toBe(false);
    },
  );
});
