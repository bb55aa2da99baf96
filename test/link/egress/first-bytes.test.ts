import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { readServerName } from '../../../src/link/egress/client-hello.ts';
import { readRequestHost } from '../../../src/link/egress/request-head.ts';

const refused = { state: 'refused' };
const unfinished = { state: 'unfinished' };

/** The first bytes that Node's own TLS client sends. */
async function helloOf(options: { servername?: string }): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connect({ port, host: '127.0.0.1', ...options }).on('error', () => undefined);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  client.destroy();
  socket.destroy();
  server.close();
  return bytes;
}

/** The same handshake message in records of `size` bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5);
  const records: Buffer[] = [];
  for (let at = 0; at < message.length; at += size) {
    const part = message.subarray(at, at + size);
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part);
  }
  return Buffer.concat(records);
}

/** The message with more extensions, its lengths mended. */
function withExtension(hello: Buffer, extension: Buffer): Buffer {
  const bytes = Buffer.concat([hello, extension]);
  bytes.writeUInt16BE(bytes.readUInt16BE(3) + extension.length, 3);
  bytes.writeUIntBE(bytes.readUIntBE(6, 3) + extension.length, 6, 3);
  const afterSession = 9 + 34 + 1 + (bytes[43] ?? 0);
  const afterCiphers = afterSession + 2 + bytes.readUInt16BE(afterSession);
  const lengthAt = afterCiphers + 1 + (bytes[afterCiphers] ?? 0);
  bytes.writeUInt16BE(bytes.readUInt16BE(lengthAt) + extension.length, lengthAt);
  return bytes;
}

describe('a ClientHello', () => {
  let hello: Buffer;
  beforeAll(async () => {
    hello = await helloOf({ servername: 'a.example.com' });
  });

  it('names its server, in one record or in many, and whatever follows', () => {
    const named = { state: 'named', name: 'a.example.com' };
    expect(readServerName(hello)).toEqual(named);
    expect(readServerName(inRecords(hello, 32))).toEqual(named);
    expect(readServerName(Buffer.concat([hello, Buffer.from([20, 3, 3, 0, 1, 1])]))).toEqual(named);
  });

  it('is waited for at every cut', () => {
    for (let end = 0; end < hello.length; end += 1) {
      expect(readServerName(hello.subarray(0, end))).toEqual(unfinished);
    }
  });

  it('is refused in more records than anybody sends, before all of them are there', () => {
    expect(readServerName(inRecords(hello, 1).subarray(0, 32 * 6 - 1))).toEqual(unfinished);
    expect(readServerName(inRecords(hello, 1).subarray(0, 32 * 6))).toEqual(refused);
  });

  it('is refused without a name, with two, or with one that is encrypted', async () => {
    expect(readServerName(await helloOf({}))).toEqual(refused);
    const name = Buffer.from([0, 0, 0, 8, 0, 6, 0, 0, 3, 98, 46, 99]);
    expect(readServerName(withExtension(hello, name))).toEqual(refused);
    expect(readServerName(withExtension(hello, Buffer.from([0xfe, 0x0d, 0, 1, 0])))).toEqual(refused);
    // The helper makes what is well-formed otherwise.
    expect(readServerName(withExtension(hello, Buffer.from([0x0a, 0x0a, 0, 0])))).toMatchObject({
      state: 'named',
    });
  });

  it.each([
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n')],
    ['a record of another kind', Buffer.from([23, 3, 1, 0, 1, 1])],
    ['another handshake message', Buffer.from([22, 3, 1, 0, 4, 2, 0, 0, 0])],
    ['an empty record', Buffer.from([22, 3, 1, 0, 0])],
    ['a message that is too long', Buffer.from([22, 3, 1, 0xff, 0xff, 1])],
    ['SSL 2', Buffer.from([0x80, 0x2e, 1, 3, 1])],
  ])('%s is refused', (_, bytes) => {
    expect(readServerName(bytes)).toEqual(refused);
  });

  it('answers whatever comes', () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.boolean(), (place, value, cut) => {
        const bytes = Buffer.from(cut ? hello.subarray(0, place % hello.length) : hello);
        if (bytes.length > 0) bytes[place % bytes.length] = value;
        expect(['unfinished', 'named', 'refused']).toContain(readServerName(bytes).state);
      }),
      { numRuns: 500 },
    );
  });
});

describe('a plain request', () => {
  const read = (text: string) => readRequestHost(Buffer.from(text, 'latin1'));

  it.each(['Host: a.example.com', 'hOST:a.example.com  ', 'Accept: */*\r\nHost: a.example.com:80'])(
    'names its host with %j',
    (fields) => {
      expect(read(`GET /a?b=c HTTP/1.1\r\n${fields}\r\n\r\nbody`)).toEqual({
        state: 'named',
        name: 'a.example.com',
      });
    },
  );

  it('is waited for, but not for ever', () => {
    expect(read('')).toEqual(unfinished);
    expect(read('GET / HTTP/1.1\r\nHost: a.example.com\r\n')).toEqual(unfinished);
    expect(read(`GET / HTTP/1.1\r\nA: ${'a'.repeat(16_400)}`)).toEqual(refused);
  });

  it.each([
    ['no host', 'GET / HTTP/1.1\r\nA: b'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a.example.com\r\nHost: b.example.com'],
    ['a host in the target', 'GET http://b.example.com/ HTTP/1.1\r\nHost: a.example.com'],
    ['another version', 'GET / HTTP/1.0\r\nHost: a.example.com'],
    ['a folded line', 'GET / HTTP/1.1\r\nA: b\r\n Host: c\r\nHost: a.example.com'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost : a.example.com'],
    ['a bare line feed', 'GET / HTTP/1.1\nHost: b.example.com\r\nHost: a.example.com'],
    ['a bare line feed in a field', 'GET / HTTP/1.1\r\nA: b\nHost: b.example.com\r\nHost: a.example.com'],
    ['another CONNECT', 'CONNECT b.example.com:443 HTTP/1.1\r\nHost: a.example.com'],
    ['TLS', '\x16\x03\x01\x00\x05'],
  ])('is refused with %s', (_, head) => {
    expect(read(`${head}\r\n\r\n`)).toEqual(refused);
  });
});
