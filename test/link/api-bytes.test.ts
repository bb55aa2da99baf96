import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLink } from '../../src/link/link.ts';
import type { LocalRun } from '../../src/link/serve-link.ts';
import { serveLink } from '../../src/link/serve-link.ts';
import { ann, bob, code, codeHash, jobRequest, mediaId, scriptedSandbox, untilKilled } from './helpers.ts';

// The API of a local Run at the level of bytes: what no client of a library sends, but a stranger on this machine can.
let run: LocalRun;
beforeAll(async () => {
  const { sandbox } = scriptedSandbox(untilKilled);
  run = await serveLink(
    createLink({ owner: ann.subject, skills: 'on' }, async () => sandbox),
    ann.subject,
    {},
  );
  run.link.provide([{ mediaId, sha256: codeHash, bytes: code }]);
});
afterAll(() => run.close());

const host = (): string => `Host: ${new URL(run.url).host}`;
const owner = (): string[] => [
  `Authorization: Bearer ${run.token}`,
  `X-OV-Subject: ${ann.subject}`,
  `X-OV-Project: ${ann.project}`,
];
const message = (line: string, fields: readonly string[], body = ''): string =>
  `${[line, ...fields].join('\r\n')}\r\n\r\n${body}`;
const enter = (): Socket => connect(Number(new URL(run.url).port), '127.0.0.1').on('error', () => undefined);

/** The statuses of all that comes back for bytes as they are, up to the end of the connection. */
async function statuses(bytes: string): Promise<number[]> {
  const socket = enter();
  socket.end(bytes, 'latin1');
  const answer = await text(socket).catch(() => '');
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

const json = 'Content-Type: application/json';
const list = 'GET /api/v1/jobs HTTP/1.1';
const post = 'POST /api/v1/jobs HTTP/1.1';

describe('the bytes of a request', () => {
  const odd: [string, () => string, number[]][] = [
    ['a foreign host before ours', () => message(list, ['Host: evil.example', host(), ...owner()]), [403]],
    ['no host', () => message('GET /api/v1/jobs HTTP/1.0', owner()), [403]],
    ['an empty origin', () => message(list, [host(), ...owner(), 'Origin:']), [403]],
    [
      'a wrong token before ours',
      () => message(list, [host(), 'Authorization: Bearer x', ...owner()]),
      [401],
    ],
    ['a second person', () => message(list, [host(), ...owner(), `X-OV-Subject: ${bob.subject}`]), [403]],
    ['a second project', () => message(list, [host(), ...owner(), `X-OV-Project: ${ann.project}`]), [403]],
    ['a bare line feed', () => `${list}\n${host()}\n\n`, [400]],
    [
      'two lengths',
      () => message(post, [host(), json, 'Content-Length: 1', 'Content-Length: 2'], '{}'),
      [400],
    ],
    [
      'a length beside chunks',
      () => message(post, [host(), json, 'Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'),
      [400],
    ],
    [
      'chunks of another name',
      () => message(post, [host(), json, 'Transfer-Encoding: xchunked'], '{}'),
      [400],
    ],
    ['a mirror', () => message('TRACE /api/v1/jobs HTTP/1.1', [host(), ...owner()]), []],
    ['a tunnel', () => message('CONNECT 127.0.0.1:80 HTTP/1.1', [host(), ...owner()]), []],
    ['another protocol', () => message(list, [host(), 'Connection: upgrade', 'Upgrade: websocket']), [401]],
    [
      // Its own answer and the next one's, and none for the request in the body.
      'a request in the body of one that is refused',
      () => {
        const inner = message(list, [host(), ...owner()]);
        const outer = message(post, [host(), json, `Content-Length: ${inner.length}`], inner);
        return outer + message(list, [host(), 'Connection: close']);
      },
      [401, 401],
    ],
  ];
  it.each(odd)('%s', async (_name, bytes, expected) => {
    expect(await statuses(bytes())).toEqual(expected);
  });
});

it('a body without end is cut off after its answer', async () => {
  const socket = enter();
  let answer = '';
  socket.on('data', (data: Buffer) => {
    answer += data;
  });
  socket.write(message(post, [host(), json, 'Transfer-Encoding: chunked']));
  const chunk = `10000\r\n${'a'.repeat(65_536)}\r\n`;
  const flood = (): void => {
    while (!socket.destroyed && socket.write(chunk));
    if (!socket.destroyed) socket.once('drain', flood);
  };
  flood();
  await new Promise((resolve) => socket.once('close', resolve));
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expect(socket.bytesWritten).toBeLessThan(64 << 20);
});

describe('the streams of a job', () => {
  it('are 64 at once, also for who never reads, and free again when he goes', async () => {
    const { job } = await run.link.submit(jobRequest(), { person: ann });
    const open = async (): Promise<{ status: number; socket: Socket }> => {
      const socket = enter();
      socket.write(message(`GET /api/v1/jobs/${job.id}/stream HTTP/1.1`, [host(), ...owner()]));
      const [head] = (await once(socket, 'data')) as [Buffer];
      return { status: Number(head.toString('latin1').slice(9, 12)), socket: socket.pause() };
    };
    const streams = await Promise.all(Array.from({ length: 64 }, open));
    expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
    const more = await open();
    expect(more.status).toBe(503);
    for (const { socket } of [more, ...streams]) socket.destroy();
    await expect
      .poll(async () => {
        const { status, socket } = await open();
        socket.destroy();
        return status;
      })
      .toBe(200);
  });

  it('are opened by a ticket once, for one job, and not by one of two', async () => {
    const jobs = [jobRequest(), jobRequest()].map((request) => run.link.submit(request, { person: ann }));
    const [first, second] = (await Promise.all(jobs)).map(({ job }) => job.id);
    const headers = {
      authorization: `Bearer ${run.token}`,
      'x-ov-subject': ann.subject,
      'x-ov-project': ann.project,
    };
    const ticket = async (): Promise<string> => {
      const answer = await fetch(`${run.url}/api/v1/jobs/${first}/stream/ticket`, {
        method: 'POST',
        headers,
      });
      return ((await answer.json()) as { ticket: string }).ticket;
    };
    const read = async (path: string): Promise<number> => {
      const answer = await fetch(`${run.url}/api/v1/jobs/${path}`);
      await answer.body?.cancel();
      return answer.status;
    };
    expect(await read(`${second}/stream?ticket=${await ticket()}`)).toBe(401);
    expect(await read(`${first}?ticket=${await ticket()}`)).toBe(401);
    expect(await read(`${first}/stream?ticket=x&ticket=${await ticket()}`)).toBe(401);
    const one = await ticket();
    const both = await Promise.all([
      read(`${first}/stream?ticket=${one}`),
      read(`${first}/stream?ticket=${one}`),
    ]);
    expect(both.sort()).toEqual([200, 401]);
  });
});
