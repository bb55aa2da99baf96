import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Egress, maxBytes, maxConnections, openEgress } from '../../../src/link/egress/proxy.ts';
import { maxTargets } from '../../../src/link/egress/targets.ts';
import { buildWorld, elsewhere, somewhere, type World } from './world.ts';

let folder: string;
let world: World;
let egress: Egress;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'egress-'));
  world = await buildWorld((_request, response) => response.end('hello'));
  world.names.set('site.example.com', [[somewhere, elsewhere]]);
  egress = await openEgress(folder, world.outside);
  egress.arm('public');
});
afterEach(async () => {
  await egress.close();
  await world[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const quiet = (socket: Socket): Socket => socket.on('error', () => undefined);
const enter = (path = egress.path): Socket => quiet(connect(path));

/** Asks the proxy for a connection. */
async function ask(authority: string): Promise<{ status: number | undefined; socket: Socket }> {
  const asking = request({ method: 'CONNECT', path: authority, createConnection: () => enter() }).end();
  const [response, socket] = (await once(asking, 'connect')) as [IncomingMessage, Socket];
  return { status: response.statusCode, socket: quiet(socket) };
}

/** What comes back for bytes as they are. */
function say(bytes: string): Promise<string> {
  const socket = enter();
  socket.write(bytes, 'latin1');
  return text(socket);
}

/** Sends a plain request through a connection to port 80 and reads all that comes back. */
async function getPlain(authority: string, host: string): Promise<string> {
  const { status, socket } = await ask(authority);
  expect(status).toBe(200);
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return text(socket).catch(() => '');
}

describe('the way out', () => {
  it('leads to the checked address of a name, and counts what went there', async () => {
    expect(await getPlain('Site.Example.Com:80', 'site.example.com')).toMatch(/200 OK[\s\S]*hello$/);
    expect(world.lookups).toEqual(['site.example.com']);
    expect(world.dialled).toEqual([`${somewhere} 80`]);
    const [target] = egress.targets;
    expect(target).toEqual({ host: 'Site.Example.Com', port: 80, allowed: true, bytes: expect.any(Number) });
    expect(target?.bytes).toBeGreaterThan(100);
  });

  it('leads through TLS whose server name is the same, in any case', async () => {
    const { socket } = await ask('site.example.com:443');
    const secure = connectTls({ socket, servername: 'SITE.example.com', rejectUnauthorized: false });
    secure.write('GET / HTTP/1.1\r\nHost: site.example.com\r\nConnection: close\r\n\r\n');
    expect(await text(secure)).toMatch(/hello$/);
    expect(egress.targets).toMatchObject([{ host: 'site.example.com', port: 443, allowed: true }]);
  });

  it('is open to one user, in a folder whose path is longer than a socket address', async () => {
    const long = await mkdtemp(join(folder, 'long-'.repeat(24)));
    const other = await openEgress(long, world.outside);
    const { mode } = await stat(other.path);
    expect(mode & 0o777).toBe(0o600);
    await other.close();
    await expect(stat(other.path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('tries the next address when one does not answer', async () => {
    let dials = 0;
    const none = createServer().listen(0, '127.0.0.1');
    await once(none, 'listening');
    const { port } = none.address() as { port: number };
    await new Promise((resolve) => none.close(resolve));
    const dial = (address: string, at: number): Socket => {
      dials += 1;
      return dials === 1 ? connect(port, '127.0.0.1') : world.outside.dial(address, at);
    };
    const other = await openEgress(await mkdtemp(join(folder, 'o')), { ...world.outside, dial });
    other.arm('public');
    await egress.close();
    egress = other;
    expect(await getPlain('site.example.com:80', 'site.example.com')).toMatch(/hello$/);
    expect(world.dialled).toEqual([`${elsewhere} 80`]);
  });
});

describe('what the proxy refuses before anybody is asked', () => {
  it.each([
    ['IPv4', '93.184.215.14:443'],
    ['decimal', '1572395790:443'],
    ['hexadecimal', '0x5db8d70e:443'],
    ['octal', '0135.0270.0327.016:443'],
    ['short', '127.1:443'],
    ['IPv6', '[2606:4700::1111]:443'],
    ['mapped', '[::ffff:93.184.215.14]:443'],
    ['metadata', '169.254.169.254:80'],
    ['metadata by name', 'metadata.google.internal:80'],
    ['localhost', 'localhost:443'],
    ['mDNS', 'printer.local:80'],
    ['an onion', 'a.onion:443'],
    ['a trailing dot', 'site.example.com.:443'],
    ['userinfo', 'user@site.example.com:443'],
    ['a path', 'site.example.com:443/'],
    ['no port', 'site.example.com'],
    ['SSH', 'site.example.com:22'],
    ['DNS', 'site.example.com:53'],
    ['port 8443', 'site.example.com:8443'],
    ['a port with a zero before', 'site.example.com:0443'],
    ['a port beyond 16 bits', 'site.example.com:65979'],
  ])('%s', async (_, authority) => {
    expect((await ask(authority)).status).toBe(403);
    expect([...world.lookups, ...world.dialled]).toEqual([]);
    expect(egress.targets).toMatchObject([{ allowed: false, bytes: 0 }]);
  });

  it.each(['site.example.com', 'notopenvibe.run', 'openvibe.run.example.org', 'api.openvibe.run.'])(
    '%s for a tool that may speak to OpenVibe only',
    async (host) => {
      await egress.close();
      egress = await openEgress(folder, world.outside);
      egress.arm('openvibe-only');
      expect((await ask(`${host}:443`)).status).toBe(403);
      expect(world.lookups).toEqual([]);
    },
  );

  it.each([
    ['a plain GET', 'GET http://site.example.com/ HTTP/1.1\r\nHost: site.example.com\r\n\r\n', '405'],
    ['a GET of its own', 'GET / HTTP/1.1\r\nHost: site.example.com\r\n\r\n', '405'],
    ['NUL', 'CONNECT site.example.com\0:443 HTTP/1.1\r\nHost: a\r\n\r\n', '400'],
    ['no HTTP', '\x05\x01\x00', '400'],
    ['a head without end', `CONNECT site.example.com:443 HTTP/1.1\r\nA: ${'a'.repeat(9000)}`, '431'],
  ])('%s', async (_, bytes, status) => {
    expect(await say(bytes)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect([...world.lookups, ...world.dialled, ...egress.targets]).toEqual([]);
  });

  it.each([' HTTP/0.9', ' HTTP/1.0', ' HTTP/2.0', ''])('a CONNECT that ends with %j', async (version) => {
    const said = await say(`CONNECT site.example.com:80${version}\r\nHost: a\r\n\r\n`);
    expect(said).toMatch(/^HTTP\/1\.1 (400|505) /);
    expect([...world.lookups, ...world.dialled]).toEqual([]);
    expect(egress.targets.filter(({ allowed }) => allowed)).toEqual([]);
  });
});

describe('what the proxy refuses of an answer', () => {
  it.each([
    ['none', []],
    ['private', ['10.0.0.1']],
    ['metadata', ['169.254.169.254']],
    ['public and private', [somewhere, '192.168.0.1']],
    ['public and private of version 6', [somewhere, 'fd00::1']],
    ['mapped', ['::ffff:127.0.0.1']],
    ['of version 6', ['2606:4700::1111']],
    ['NAT64', ['64:ff9b::7f00:1']],
    ['6to4', ['2002:7f00:1::']],
    ['no address', ['site.example.com']],
  ])('%s', async (_, answers) => {
    world.names.set('a.example.org', [answers]);
    expect((await ask('a.example.org:443')).status).toBe(403);
    expect(world.dialled).toEqual([]);
    expect(egress.targets).toEqual([{ host: 'a.example.org', port: 443, allowed: false, bytes: 0 }]);
  });

  it('one that changes between two look-ups', async () => {
    world.names.set('a.example.org', [[somewhere], ['127.0.0.1']]);
    expect(await getPlain('a.example.org:80', 'a.example.org')).toMatch(/hello$/);
    expect((await ask('a.example.org:80')).status).toBe(403);
    expect(world.lookups).toHaveLength(2);
    expect(world.dialled).toEqual([`${somewhere} 80`]);
  });
});

describe('what the proxy refuses of a connection', () => {
  it.each([
    ['another server name', { servername: 'b.example.org' }],
    ['no server name', {}],
  ])('%s', async (_, options) => {
    const { status, socket } = await ask('site.example.com:443');
    expect(status).toBe(200);
    const secure = connectTls({ socket, rejectUnauthorized: false, ...options });
    await once(secure, 'error');
    expect(egress.targets).toMatchObject([{ allowed: false, bytes: 0 }]);
  });

  it.each([
    ['plain HTTP on the port of TLS', 443, 'GET / HTTP/1.1\r\nHost: site.example.com\r\n\r\n'],
    ['another host in the request', 80, 'GET / HTTP/1.1\r\nHost: b.example.org\r\n\r\n'],
    ['another protocol', 80, 'SSH-2.0-x\r\n\r\n\r\n'],
  ])('%s', async (_, port, bytes) => {
    const { socket } = await ask(`site.example.com:${port}`);
    socket.end(bytes);
    expect(await text(socket).catch(() => '')).toBe('');
    expect(world.requests).toEqual([]);
    expect(egress.targets).toMatchObject([{ allowed: false, bytes: 0 }]);
  });
});

describe('what the proxy bounds', () => {
  it('the connections at once', async () => {
    await Promise.all(Array.from({ length: maxConnections }, () => ask('site.example.com:80')));
    const more = enter();
    more.write('CONNECT site.example.com:80 HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await text(more).catch(() => '')).toBe('');
    expect(world.dialled).toHaveLength(maxConnections);
  });

  it('the connections of a job, so that each is on its record', async () => {
    for (let asked = 0; asked < maxTargets; asked += 1) {
      (await ask('127.0.0.1:1')).socket.destroy();
    }
    expect((await ask('site.example.com:80')).status).toBe(429);
    expect(egress.targets).toHaveLength(maxTargets);
    expect(world.lookups).toEqual([]);
  });

  it('the bytes of all connections together', async () => {
    const flood = createServer((socket) => {
      quiet(socket).on('data', () => socket.write(Buffer.alloc(maxBytes * 0.75)));
    }).listen(0, '127.0.0.1');
    await once(flood, 'listening');
    const { port } = flood.address() as { port: number };
    await egress.close();
    egress = await openEgress(folder, { ...world.outside, dial: () => connect(port, '127.0.0.1') });
    egress.arm('public');
    const download = async (): Promise<number> => {
      const { status, socket } = await ask('site.example.com:80');
      if (status !== 200) return 0;
      socket.write('GET / HTTP/1.1\r\nHost: site.example.com\r\n\r\n');
      let size = 0;
      socket.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size === maxBytes * 0.75) socket.destroy();
      });
      await once(socket, 'close');
      return size;
    };
    expect(await download()).toBe(maxBytes * 0.75);
    expect(await download()).toBeLessThan(maxBytes * 0.25);
    expect((await ask('site.example.com:80')).status).toBe(429);
    flood.close();
  });

  it('its own life: what is open ends with it', async () => {
    const { socket } = await ask('site.example.com:80');
    await Promise.all([once(socket, 'close'), egress.close()]);
    await expect(once(enter(), 'connect')).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
