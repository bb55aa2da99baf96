import { createSocket } from 'node:dgram';
import type * as Dns from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkedAddresses } from '../../../src/link/egress/check.ts';
import { dialFirst } from '../../../src/link/egress/dial.ts';
import { internet } from '../../../src/link/egress/outside.ts';

// All of the real resolver but the machine's choice of whom to ask.
const dns = vi.hoisted(() => ({ port: 0 }));
vi.mock('node:dns/promises', async (original) => {
  const real = await original<typeof Dns>();
  class Resolver extends real.Resolver {
    constructor(...args: ConstructorParameters<typeof real.Resolver>) {
      super(...args);
      this.setServers([`127.0.0.1:${dns.port}`]);
    }
  }
  return { ...real, Resolver };
});

const A = 1;
const AAAA = 28;
const noSuchName = 3;
const serverFailed = 2;

interface Answer {
  /** An error of DNS in place of records. */
  readonly code?: number;
  readonly records?: readonly (readonly [type: number, data: Buffer])[];
}

const four = (address: string): Buffer => Buffer.from(address.split('.').map(Number));
const six = (hex: string): Buffer => Buffer.from(hex, 'hex');
const one6 = '26064700000000000000000000001111';

/** What the server says, by type and name. */
const zone = new Map<string, Answer>();
const questions: string[] = [];
const server = createSocket('udp4');

server.on('message', (query, { port, address }) => {
  const labels: string[] = [];
  let at = 12;
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size));
    at += 1 + size;
  }
  const type = query.readUInt16BE(at + 1);
  const name = labels.join('.').toLowerCase();
  questions.push(`${type} ${name}`);
  const { code = 0, records = [] } = zone.get(`${type} ${name}`) ?? { code: noSuchName };
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  // Each by a pointer to the name that was asked for, an hour long.
  const answers = records.map(([kind, data]) =>
    Buffer.concat([Buffer.from([0xc0, 12, 0, kind, 0, 1, 0, 0, 14, 16, 0, data.length]), data]),
  );
  server.send(Buffer.concat([head, query.subarray(12, at + 5), ...answers]), port, address);
});

beforeAll(async () => {
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  dns.port = server.address().port;
});
beforeEach(() => {
  zone.clear();
  questions.length = 0;
});
afterAll(() => void server.close());

describe('the look-up of a name', () => {
  const name = 'site.example.com';

  it('asks once, for version 4 alone, and answers all addresses', async () => {
    zone.set(`${A} ${name}`, {
      records: [
        [A, four('93.184.215.14')],
        [A, four('93.184.215.15')],
      ],
    });
    zone.set(`${AAAA} ${name}`, { records: [[AAAA, six(one6)]] });
    expect(await internet.resolve(name)).toEqual(['93.184.215.14', '93.184.215.15']);
    expect(questions).toEqual([`${A} ${name}`]);
  });

  it('leads nowhere for a name that has addresses of version 6 alone, or none that can be had', async () => {
    for (const code of [0, noSuchName, serverFailed]) {
      zone.set(`${A} ${name}`, { code });
      zone.set(`${AAAA} ${name}`, { records: [[AAAA, six(one6)]] });
      expect(await checkedAddresses(name, internet)).toEqual([]);
    }
    expect(questions.some((asked) => asked.startsWith(`${AAAA} `))).toBe(false);
  });

  it('leads nowhere for a name that is not there', async () => {
    expect(await checkedAddresses(name, internet)).toEqual([]);
  });

  it('asks DNS alone: no file of this machine, and nothing put behind the name', async () => {
    for (const own of ['localhost', 'intranet.example.com']) {
      await expect(internet.resolve(own)).rejects.toMatchObject({ code: 'ENOTFOUND' });
    }
    expect(new Set(questions)).toEqual(
      new Set(['localhost', 'intranet.example.com'].map((own) => `${A} ${own}`)),
    );
  });

  it.each([
    ['private', ['10.0.0.1']],
    ['public and private', ['93.184.215.14', '127.0.0.1']],
    ['metadata', ['169.254.169.254']],
  ])('leads nowhere where an answer is %s', async (_, addresses) => {
    zone.set(`${A} ${name}`, { records: addresses.map((address) => [A, four(address)] as const) });
    expect(await checkedAddresses(name, internet)).toEqual([]);
  });

  // None of a machine's own: whoever answers in its place.
  it.each([
    ['of version 6', '2606:4700::1111'],
    ['mapped', '::ffff:93.184.215.14'],
    ['NAT64', '64:ff9b::5db8:d70e'],
    ['6to4', '2002:5db8:d70e::1'],
    ['Teredo', '2001:0:53aa:64c:0:fbff:a247:28f1'],
    ['unique local', 'fd00::1'],
  ])('leads nowhere where one beside a public one is %s', async (_, address) => {
    const resolve = async (): Promise<string[]> => ['93.184.215.14', address];
    expect(await checkedAddresses(name, { ...internet, resolve })).toEqual([]);
  });

  it('is asked again for each connection, and judged again', async () => {
    zone.set(`${A} ${name}`, { records: [[A, four('93.184.215.14')]] });
    expect(await checkedAddresses(name, internet)).toEqual(['93.184.215.14']);
    zone.set(`${A} ${name}`, { records: [[A, four('127.0.0.1')]] });
    expect(await checkedAddresses(name, internet)).toEqual([]);
  });
});

describe('a dial', () => {
  it('goes to the address that it is given, after those that do not answer', async () => {
    const listener = createServer((socket) => socket.on('error', () => undefined).end('hello')).listen(
      0,
      '127.0.0.3',
    );
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const dialled: string[] = [];
    const dial = (address: string) => {
      dialled.push(address);
      return internet.dial(address, port);
    };
    // Nothing listens there: each is an address of its own.
    const [dead, alive] = ['127.0.0.2', '127.0.0.3'];
    const socket = await dialFirst([dead, alive], dial, () => false);
    expect(socket).toMatchObject({ remoteAddress: alive, remotePort: port });
    expect(dialled).toEqual([dead, alive]);
    socket?.destroy();
    expect(await dialFirst([dead, dead, dead, alive], dial, () => false)).toBeUndefined();
    listener.close();
  });

  it('is given up when its time is over, and not begun when nobody waits', async () => {
    const listener = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const slow = (address: string) => {
      const socket = internet.dial(address, port);
      // Before it is connected.
      process.nextTick(() => socket.emit('timeout'));
      return socket;
    };
    expect(await dialFirst(['127.0.0.1'], slow, () => false)).toBeUndefined();
    const dial = vi.fn(internet.dial);
    expect(
      await dialFirst(
        ['127.0.0.1'],
        (address) => dial(address, port),
        () => true,
      ),
    ).toBeUndefined();
    expect(dial).not.toHaveBeenCalled();
    listener.close();
  });
});
