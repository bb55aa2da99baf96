import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { randomHex } from '../../src/ids.ts';

/** What a hostile tool would take, reach or kill, and whether it did. */
export interface Canaries {
  readonly http: number;
  readonly udp: number;
  /** The name of the abstract socket, without its NUL. */
  readonly socket: string;
  /** The texts of the host, which must not come out of a sandbox, that `told` holds. */
  leaked(told: string): string[];
  /** What was touched; empty as it should be. */
  touched(): string[];
  close(): Promise<void>;
}

const mark = 'OV_CANARY_9f3c';

/** Sets out an environment variable, a file, TCP, UDP and abstract-socket listeners and a process. */
export async function setOutCanaries(folder: string): Promise<Canaries> {
  const touched: string[] = [];
  process.env.OV_CANARY = mark;
  writeFileSync(join(folder, 'secret.txt'), mark, { mode: 0o644 });
  const tcp = await listen(createServer(), { port: 0, host: '127.0.0.1' }, () => touched.push('tcp'));
  const socket = `sbx${randomHex(8)}`;
  const abstract = await listen(createServer(), { path: `\0${socket}` }, () =>
    touched.push('abstract socket'),
  );
  const udp = createSocket('udp4').on('message', () => touched.push('udp'));
  udp.bind(0, '127.0.0.1');
  await once(udp, 'listening');
  const secrets = [mark, userInfo().homedir, process.cwd(), folder].filter((text) => text !== '/');
  const victim: ChildProcess = spawn('sleep', ['600'], { stdio: 'ignore' });
  return {
    http: (tcp.address() as { port: number }).port,
    udp: udp.address().port,
    socket,
    leaked: (told) => [
      ...secrets.filter((secret) => told.includes(secret)),
      ...(holdsWord(told, hostname()) ? [hostname()] : []),
    ],
    touched: () => {
      const dead = victim.exitCode !== null || victim.signalCode !== null;
      return dead ? [...touched, 'process'] : [...touched];
    },
    async close() {
      delete process.env.OV_CANARY;
      victim.kill('SIGKILL');
      udp.close();
      tcp.close();
      abstract.close();
    },
  };
}

// As a word of its own: a host may be called `vm`, as one of Node's modules is.
function holdsWord(text: string, word: string): boolean {
  const quoted = word.replace(/[^\w]/g, '\\$&');
  return new RegExp(`(?<![\\w:/.])${quoted}(?![\\w.])`).test(text);
}

async function listen(server: Server, where: object, onTouch: () => void): Promise<Server> {
  server.on('connection', (socket) => {
    onTouch();
    socket.destroy();
  });
  server.listen(where);
  await once(server, 'listening');
  return server;
}
