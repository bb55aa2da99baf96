import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createRunClient } from '../../src/run/client.ts';
import { RunProblem } from '../../src/run/problem.ts';
import { fakeRun, jobAnswer, problem, type Script } from './support/fake-run.ts';
import { ann, ids, jobIn, requestOf } from './support/jobs.ts';
import { everythingIn } from './support/leaks.ts';
import { createTestClock } from './support/test-clock.ts';

const secret = 'eyJhbGciOi.SECRET-TOKEN_OF.the~host+/=';

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function listen(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function setUp(script: Script, token: () => string | Promise<string> = () => secret) {
  const clock = createTestClock();
  const run = fakeRun(script);
  return { clock, run, client: createRunClient({ token, fetch: run.fetch, clock, retries: 1 }) };
}

describe('the token', () => {
  const leaky: [string, Script][] = [
    [
      'a fetch whose error holds the request',
      (seen) => Object.assign(new TypeError(`failed ${secret}`), { seen }),
    ],
    [
      'a fetch whose error code is the token',
      () => new TypeError('x', { cause: { code: secret, headers: { authorization: secret } } }),
    ],
    [
      'a problem that repeats it',
      () => problem(422, 'run.invalid_input', { detail: `got ${secret}`, title: secret }),
    ],
    [
      'a problem that repeats it where it is cut',
      () => problem(422, 'run.invalid_input', { detail: `${'x'.repeat(1010)}${secret}` }),
    ],
    [
      'a problem that repeats it in its parts',
      () =>
        problem(422, 'run.invalid_input', {
          request_id: secret,
          instance: secret,
          errors: [{ path: secret, message: secret }],
        }),
    ],
    ['an HTML page that repeats it', () => new Response(`<p>${secret}</p>`, { status: 502 })],
    ['a status line that repeats it', () => new Response('', { status: 500, statusText: 'SECRET-TOKEN' })],
    [
      'a header that repeats it',
      () => new Response('', { status: 401, headers: { 'www-authenticate': `Bearer ${secret}` } }),
    ],
    ['an answer that repeats it', () => Response.json({ id: secret })],
    ['no JSON at all', () => new Response(secret, { headers: { 'content-type': 'application/json' } })],
    ['another type', () => new Response('', { headers: { 'content-type': `text/${secret.slice(0, 5)}` } })],
  ];
  test.each(leaky)('stands in no error: %s', async (_, script) => {
    const { clock, run, client } = setUp(script);
    const context = { person: ann };
    for (const call of [
      () => client.get(ids.job, context),
      () => client.submit(requestOf(), context),
      () => client.stream(ids.job, context),
    ]) {
      const error = await clock.run<unknown>(call()).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(Error);
      const everything = everythingIn(error);
      expect(everything).not.toContain('SECRET-TOKEN');
      expect(everything).not.toContain('eyJhbGciOi');
    }
    expect(run.seen[0]?.headers.get('authorization')).toBe(`Bearer ${secret}`);
  });

  test('stands in no error of the host’s own token function', async () => {
    const { clock, run, client } = setUp(
      () => jobAnswer(jobIn('queued')),
      () => Promise.reject(Object.assign(new Error(secret), { secret })),
    );
    const error = await clock.run(client.get(ids.job, { person: ann })).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'run_unreachable', sent: 0 });
    expect(everythingIn(error)).not.toContain('SECRET-TOKEN');
    expect(run.seen).toHaveLength(0);
  });

  test.each(['', ' ', 'a b', 'a\r\nX-OV-Subject: usr_x', 'a\n', 'é', 'Bearer a', '"a"', 5, undefined, null])(
    'of %j is refused and nothing is sent',
    async (token) => {
      const { run, client } = setUp(
        () => jobAnswer(jobIn('queued')),
        () => token as string,
      );
      await expect(client.get(ids.job, { person: ann })).rejects.toMatchObject({ code: 'option_invalid' });
      expect(run.seen).toHaveLength(0);
    },
  );

  test('that hangs is cut by the timeout, and a late one is not sent', async () => {
    let give = (_: string): void => {};
    const clock = createTestClock();
    const run = fakeRun(() => jobAnswer(jobIn('queued')));
    const token = (): Promise<string> =>
      new Promise((resolve) => {
        give = resolve;
      });
    const client = createRunClient({ token, fetch: run.fetch, clock, retries: 0 });
    await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({ sent: 0 });
    give(secret);
    await clock.advance(1);
    expect(run.seen).toHaveLength(0);
  });
});

describe('401', () => {
  test('refreshes the token once and sends again', async () => {
    const asked: boolean[] = [];
    const clock = createTestClock();
    const run = fakeRun((_, nth) => (nth === 1 ? problem(401, 'token.expired') : jobAnswer(jobIn('queued'))));
    const client = createRunClient({
      token: ({ refresh }) => {
        asked.push(refresh);
        return refresh ? 'new' : 'old';
      },
      fetch: run.fetch,
      clock,
    });
    await clock.run(client.get(ids.job, { person: ann }));
    expect(asked).toEqual([false, true]);
    expect(run.seen.map(({ headers }) => headers.get('authorization'))).toEqual(['Bearer old', 'Bearer new']);
  });

  test('refreshes at most once a call, over its retries too', async () => {
    const asked: boolean[] = [];
    const clock = createTestClock();
    const answers = [401, 503, 401];
    const run = fakeRun((_, nth) => problem(answers[nth - 1] ?? 401, 'token.expired'));
    const client = createRunClient({
      token: ({ refresh }) => {
        asked.push(refresh);
        return 't';
      },
      fetch: run.fetch,
      clock,
    });
    await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({ status: 401 });
    expect(asked).toEqual([false, true, false]);
    expect(run.seen).toHaveLength(3);
  });
});

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])(
    'of status %i is not followed: the other host hears nothing',
    async (status) => {
      let heard = 0;
      const other = await listen((_, response) => {
        heard += 1;
        response.end();
      });
      const baseUrl = await listen((_, response) => {
        response.writeHead(status, { location: `${other}/steal` }).end();
      });
      const client = createRunClient({ baseUrl, token: () => secret, retries: 0 });
      for (const call of [client.get, client.cancel, client.stream]) {
        const error = await call(ids.job, { person: ann }).catch((caught: unknown) => caught);
        expect(error).toMatchObject({ code: 'run_unreachable' });
        expect(everythingIn(error)).not.toContain('SECRET-TOKEN');
      }
      expect(heard).toBe(0);
    },
  );
});

describe('a problem', () => {
  test('is bounded, and what is invisible in it is made visible', async () => {
    const { clock, client } = setUp(() =>
      problem(422, 'run.limits.exceeded', {
        title: 'No\u0000\u202e',
        detail: '\u200b'.repeat(5000),
        errors: Array.from({ length: 20 }, () => ({ path: 'x'.repeat(1000), message: 'y'.repeat(1000) })),
      }),
    );
    const error = await clock.run(client.get(ids.job, { person: ann })).catch((caught: unknown) => caught);
    if (!(error instanceof RunProblem)) throw error;
    expect(error.problem).toBe('run.limits.exceeded');
    expect(error.title).toBe('No\\u{0}\\u{202e}');
    expect(error.detail).toHaveLength(1024);
    expect(error.fields).toHaveLength(16);
    expect(JSON.stringify(error).length).toBeLessThan(12_000);
    expect(error.message).toBe(`reading ${ids.job}: refused with status 422, run.limits.exceeded.`);
  });

  test('with an odd key beside its own is read all the same', async () => {
    const { clock, client } = setUp(() => problem(422, 'run.limits.exceeded', { constructor: 1 }));
    await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({
      problem: 'run.limits.exceeded',
    });
  });

  test.each([
    ['HTML', new Response('<h1>Bad</h1>', { status: 400, headers: { 'content-type': 'text/html' } })],
    [
      'JSON that is none',
      new Response('{', { status: 400, headers: { 'content-type': 'application/json' } }),
    ],
    [
      'a code that is none',
      Response.json({ type: 'a', title: 'b', status: 400, code: 'X Y' }, { status: 400 }),
    ],
    [
      'too long',
      Response.json({ type: 'a'.repeat(70_000), title: 'b', status: 400, code: 'a.b' }, { status: 400 }),
    ],
  ])('of %s is known by its status', async (_, response) => {
    const { clock, client } = setUp(() => response);
    await expect(clock.run(client.get(ids.job, { person: ann }))).rejects.toMatchObject({
      code: 'run_problem',
      status: 400,
      problem: 'http.400',
    });
  });
});
