import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { resolve } from 'node:path';
import type { Outside } from '../../../src/link/egress/outside.ts';
import type { Command } from '../../../src/link/sandbox/command.ts';

// From the project's own folder, as the bench is bundled into another.
const fixture = (name: string): string => resolve(`test/fixtures/egress-${name}.pem`);

/** A certificate that signed itself, for `site.example.com`, `*.example.org`, `api.openvibe.run`. */
export const certificate = fixture('cert');

/** Gives the tools of a sandbox the certificate of the world's server. */
export function trusting(command: Command): Command {
  const at = command.args.indexOf('--remount-ro');
  const words = ['--ro-bind', certificate, '/ca.pem', '--setenv', 'NODE_EXTRA_CA_CERTS', '/ca.pem'];
  return at === -1 ? command : { ...command, args: command.args.toSpliced(at, 0, ...words) };
}

/** Addresses that the world's DNS may give out as if they were public. */
export const somewhere = '93.184.215.14';
export const elsewhere = '93.184.215.15';

/** An internet of one machine: a made DNS, and a web server on loopback behind every address. */
export interface World extends AsyncDisposable {
  readonly outside: Outside;
  /** Where its web server is, for who is in no sandbox: `https://127.0.0.1:<port>/` */
  readonly url: string;
  /** What each look-up of a name answers; the last goes on. */
  readonly names: Map<string, string[][]>;
  readonly lookups: string[];
  /** Addresses and ports that were dialled. */
  readonly dialled: string[];
  /** Hosts and paths that were asked for. */
  readonly requests: string[];
}

/** Builds a {@link World} whose server answers by `respond`. */
export async function buildWorld(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<World> {
  const names = new Map<string, string[][]>();
  const lookups: string[] = [];
  const dialled: string[] = [];
  const requests: string[] = [];
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    requests.push(`${request.headers.host}${request.url}`);
    respond(request, response);
  };
  const tls = { cert: readFileSync(certificate), key: readFileSync(fixture('key')) };
  const servers = [createHttpServer(serve), createHttpsServer(tls, serve)];
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening');
  const [http, https] = servers.map((server) => (server.address() as AddressInfo).port);
  return {
    url: `https://127.0.0.1:${https}/`,
    names,
    lookups,
    dialled,
    requests,
    outside: {
      async resolve(name) {
        lookups.push(name);
        const answers = names.get(name) ?? [];
        return (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
      },
      dial(address, port) {
        dialled.push(`${address} ${port}`);
        return connect({ host: '127.0.0.1', port: (port === 443 ? https : http) ?? 0 });
      },
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}
