import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type Server } from 'node:net';
import { randomHex } from '../../ids.ts';
import type { Outside } from '../egress/outside.ts';
import { listenOnFile, type SocketFile } from '../egress/socket-file.ts';
import { toolCommand } from './command.ts';
import type { Ground } from './ground.ts';
import { sandboxIds } from './host.ts';
import { listen } from './listen.ts';
import { askCanary, hasInnerLayers, leaks, probeRun, requireLayers } from './probe-canary.ts';

// Runs with all layers, as a tool with a network does: Node's own do not know of sockets then. JavaScript has no
// call that makes a socket of AF_VSOCK; the filter lets AF_UNIX by and nothing else, which AF_NETLINK shows.
const canary = `
const dgram = require('node:dgram');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const tls = require('node:tls');
const { getSystemErrorName } = require('node:util');
const tried = (start) => new Promise((resolve) => {
  // Not its code: that of a call for the machine's interfaces names no number that it knows.
  const failed = ({ errno, code }) => resolve(errno ? getSystemErrorName(-Math.abs(errno)) : code);
  try { start(() => resolve('reached'), failed); } catch (error) { failed(error); }
});
const connects = (...to) => tried((reached, failed) => net.connect(...to).on('connect', reached).on('error', failed));
const reaches = async (to) => (await connects(to)) === 'reached';
// The beginning of what the proxy answers to a first line, and to what is then said through it.
const asks = (line, then) => new Promise((resolve) => {
  const heard = [];
  const socket = net.connect('/egress').on('error', () => {}).on('close', () => resolve(heard.join()));
  socket.on('data', (data) => {
    heard.push(String(data).slice(9, 12));
    if (heard.length === 1 && then) then(socket); else socket.end();
  });
  socket.write(line + ' HTTP/1.1\\r\\nHost: probe\\r\\n\\r\\n');
});
process.stdin.once('data', async (data) => {
  const { tcp, udp, abstract, path, host, other, refused } = JSON.parse(data);
  const said = {
    inner: ${hasInnerLayers},
    tcp: await connects(tcp, '127.0.0.1'),
    udp: await tried((reached, failed) => dgram.createSocket('udp4').on('error', failed)
      .send('x', udp, '127.0.0.1', (error) => error ? failed(error) : reached())),
    netlink: await tried((reached) => { os.networkInterfaces(); reached(); }),
    abstract: await reaches('\\0' + abstract),
    path: await reaches(path),
    request: await asks('GET http://' + host + '/'),
    Host: await asks('CONNECT ' + host + ':80', (socket) =>
      socket.write('GET / HTTP/1.1\\r\\nHost: ' + other + '\\r\\n\\r\\n')),
    SNI: await asks('CONNECT ' + host + ':443', (socket) =>
      tls.connect({ socket, servername: other }).on('error', () => socket.destroy())),
    page: await tried((_, failed) =>
      http.get({ host }, ({ statusCode }) => failed({ code: statusCode })).on('error', failed)),
  };
  for (const name of refused) said[name] = await asks('CONNECT ' + name);
  process.stdout.write(JSON.stringify(said) + '\\n');
});`;

// Any public address will do: the probe's own server is dialled in its place.
const somewhere = '1.1.1.1';

/**
 * Shows that a sandbox holds a tool that has a network: it makes unix sockets alone, and reaches only its proxy,
 * which lets it to what its net allows and to nothing else.
 *
 * @throws `link_unavailable` with the reason and what mends it
 */
export async function probeNetwork(ground: Ground): Promise<void> {
  const mark = randomHex(8);
  const [host, other, inner] = ['a', 'b', 'c'].map((name) => `${name}-${mark}.openvibe.run`);
  const foreign = `${mark}.com`;
  // All but the last are refused before anybody is asked where they are.
  const refused = [
    `${somewhere}:80`,
    '2130706433:80',
    'localhost:80',
    `${host}.:80`,
    `_${host}:80`,
    `${host}:22`,
    `${foreign}:80`,
    `${inner}:80`,
  ];
  const asked = new Set<string>();
  const harm = new Set<string>();
  const canaries = hostCanaries((name) => harm.add(name));
  const page = createServer((socket) => {
    socket
      .on('error', () => undefined)
      .once('data', (bytes) => {
        const named = /^GET \/ HTTP\/1\.1\r\nHost: (\S+)\r\n/i.exec(bytes.toString('latin1'))?.[1];
        if (named !== host) harm.add('words for another host');
        socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n');
      });
  }).unref();
  try {
    const port = Number(await listen(page, { host: '127.0.0.1', port: 0 }));
    const outside: Outside = {
      async resolve(name) {
        asked.add(name);
        return [name === inner ? '127.0.0.1' : somewhere];
      },
      dial(address) {
        if (address !== somewhere) harm.add('an address that is not public');
        return connect(port, '127.0.0.1');
      },
    };
    const run = probeRun('canary.js', canary, 'openvibe-only');
    const inside = toolCommand(ground, run);
    const places = await canaries.setOut(ground.base.path, mark);
    const question = { ...places, host, other, refused };
    await askCanary({ ...ground, outside }, { run, inside, question }, (said, keeper) => {
      const expected: Record<string, unknown> = {
        ...{ inner: true, tcp: 'EACCES', udp: 'EACCES', netlink: 'EACCES', abstract: false, path: false },
        ...{ request: '405', Host: '200', SNI: '200', page: 204 },
        ...Object.fromEntries(refused.map((name) => [name, '403'])),
      };
      const wrong = Object.keys(expected).filter((name) => said[name] !== expected[name]);
      const told = [...asked].filter((name) => name !== host && name !== inner);
      const breaches = [...wrong, ...harm, ...told.map((name) => `a look-up of ${name}`)];
      if (breaches.length > 0) {
        throw leaks(`a canary with a network got an answer that it should not (${breaches.join(', ')})`);
      }
      requireLayers(keeper.pid, ground.backend);
    });
  } finally {
    page.close();
    await canaries.close();
  }
}

// What the canary is to try to reach on the host.
function hostCanaries(touch: (name: string) => void) {
  const server = (name: string): Server =>
    createServer((socket) => {
      touch(name);
      socket.destroy();
    }).unref();
  const [tcp, abstract, path] = [server('tcp'), server('abstract'), server('path')];
  const udp = createSocket('udp4', () => touch('udp')).unref();
  let file: SocketFile | undefined;
  return {
    /** Where they are, by the names of the question. */
    async setOut(folder: string, name: string) {
      const port = await listen(tcp, { host: '127.0.0.1', port: 0 });
      await listen(abstract, { path: `\0${name}` });
      file = await listenOnFile(path, folder, sandboxIds());
      await once(udp.bind(0, '127.0.0.1'), 'listening');
      return { tcp: port, udp: udp.address().port, abstract: name, path: file.path };
    },
    async close() {
      for (const one of [tcp, abstract, udp]) one.close();
      await file?.close();
    },
  };
}
