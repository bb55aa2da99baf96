import { createHash, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { invalidOption } from '../errors.ts';
import { isId, randomHex } from '../ids.ts';
import { requireWhole } from '../run/options.ts';
import type { Person } from '../run/service.ts';
import type { Link, LocalLink } from './link.ts';
import { notOwner } from './link.ts';
import { listenOnLoopback } from './node-http.ts';
import { asProblem, problemResponse, refusal } from './refusal.ts';
import { createRunApi } from './run-api.ts';

/** What the API of a local Run takes beside its Link. */
export interface ServeOptions {
  /** 0 to 65535. Default 0: a free one. */
  port?: number;
  /** What callers send as `Authorization: Bearer …`, 32 to 512 characters. Default: 32 random bytes. */
  token?: string;
  clock?: Clock;
}

/** A Run over HTTP on this machine's loopback address. */
export interface LocalRun extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly token: string;
  readonly link: LocalLink;
  /** Stops the server and closes the Link. */
  close(): Promise<void>;
}

/**
 * Run's HTTP API over a Link, on 127.0.0.1 only. A caller needs the token, must be the owner
 * (`X-OV-Subject`), and may not be a page in a browser: a foreign Host or any Origin is refused.
 */
export async function serveLink(
  { link, engine }: Link,
  owner: string,
  server: ServeOptions,
): Promise<LocalRun> {
  const token = server.token ?? randomHex(32);
  if (!/^[A-Za-z0-9._~+/=-]{32,512}$/.test(token)) {
    throw invalidOption('token', '32 to 512 characters of a bearer token', 'Leave it out for a random one.');
  }
  if (server.port !== undefined) requireWhole('port', server.port, 0, 65_535);
  let hosts: string[] = [];
  const api = createRunApi(engine, {
    authenticate: (request) => authenticate(request, token, owner),
    ...(server.clock && { clock: server.clock }),
  });
  const listening = await listenOnLoopback(async (request) => {
    const refused = refuseForeign(request, hosts);
    return refused ?? api(request);
  }, server.port);
  const { host } = new URL(listening.url);
  hosts = [host, host.replace('127.0.0.1', 'localhost')];
  const close = async (): Promise<void> => {
    await listening.close();
    await link.close();
  };
  return { url: listening.url, token, link, close, [Symbol.asyncDispose]: close };
}

// A page that rebinds its own name to this address sends that name as Host; a page of another site an Origin.
function refuseForeign(request: Request, hosts: readonly string[]): Response | undefined {
  if (hosts.includes(request.headers.get('host') ?? '') && !request.headers.has('origin')) return undefined;
  const foreign = refusal(403, 'capability.denied', 'This Run answers programs on this machine only.');
  return problemResponse(asProblem(foreign));
}

function authenticate(request: Request, token: string, owner: string): Person {
  const given = /^Bearer ([^\s]+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  if (given === undefined) {
    throw refusal(401, 'token.missing', "Authorization: send the local Run's token as Bearer.");
  }
  if (!timingSafeEqual(digest(given), digest(token))) {
    throw refusal(401, 'token.invalid', "Authorization: not the local Run's token.");
  }
  const subject = request.headers.get('x-ov-subject');
  const project = request.headers.get('x-ov-project');
  if (subject !== owner) throw notOwner();
  if (!isId('prj', project)) {
    throw refusal(403, 'run.project_required', 'X-OV-Project: send the prj_ id of the project.');
  }
  return { subject, project };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
