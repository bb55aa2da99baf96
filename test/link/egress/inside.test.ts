import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLink } from '../../../src/link/link.ts';
import { openAdjustedSandbox } from '../../../src/link/sandbox/open.ts';
import type { RunEnd, Sandbox, ToolRun } from '../../../src/link/sandbox/types.ts';
import { sha256, utf8 } from '../../../src/skill/sha256.ts';
import { readySkills } from '../../../src/testing/skills.ts';
import { ann, jobRequest } from '../helpers.ts';
import { backends, eventually, makeDirectory, toolRun } from '../sandbox/help.ts';
import { buildWorld, somewhere, trusting, type World } from './world.ts';

/** A tool that answers what an expression comes to, or the codes of the error that it ends with. */
const answering = (expression: string): string => `
const answer = (value) => { process.stdout.write(JSON.stringify(value)); process.exit(0); };
const denied = (error) => answer({ denied: [error.code, error.cause?.code, error.cause?.message].filter(Boolean) });
const called = (start) => new Promise((resolve, reject) => start(resolve, reject));
(async () => answer(await (${expression})))().catch(denied);
`;

// The other backend refuses it, below.
describe.each(backends.filter((backend) => backend === 'bwrap'))('a tool with a network on %s', () => {
  let directory: Awaited<ReturnType<typeof makeDirectory>>;
  let world: World;
  let sandbox: Sandbox;

  beforeAll(async () => {
    directory = await makeDirectory();
    world = await buildWorld((request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://here');
      const location = searchParams.get('to');
      if (location === null) response.end('<title> Hello </title>');
      else response.writeHead(302, { location }).end();
    });
    const open = { backend: 'bwrap', directory: directory.path } as const;
    sandbox = await openAdjustedSandbox(open, trusting, world.outside);
  });
  beforeEach(() => {
    for (const list of [world.lookups, world.dialled, world.requests]) list.length = 0;
    world.names.clear();
    for (const name of ['site.example.com', 'a.example.org', 'api.openvibe.run']) {
      world.names.set(name, [[somewhere]]);
    }
  });
  afterAll(async () => {
    await sandbox.close();
    await world[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  const run = (expression: string, more: Partial<ToolRun> = {}): Promise<RunEnd> =>
    sandbox.run(toolRun(answering(expression), { net: 'public', ...more }));
  const runs = async (expression: string, more: Partial<ToolRun> = {}): Promise<unknown> => {
    const end = await run(expression, more);
    expect(end).toMatchObject({ kind: 'exited', stderr: '' });
    return end.kind === 'exited' ? end.value : undefined;
  };

  it('is what the ready skill is: its title comes from the page, its targets go to the person', async () => {
    const { document, listing } = readySkills.fetchTitle;
    const [pin] = listing.code as [(typeof listing.code)[number]];
    const open = { backend: 'bwrap', directory: directory.path } as const;
    const { link } = createLink({ owner: ann.subject, skills: 'on' }, () =>
      openAdjustedSandbox(open, trusting, world.outside),
    );
    await using _ = link;
    link.provide([
      { mediaId: pin.media_id, sha256: pin.sha256, bytes: utf8(document.resources[0]?.text ?? '') },
    ]);
    expect(await link.nodes({ person: ann })).toMatchObject([{ nets: ['deny', 'openvibe-only', 'public'] }]);
    const input = { url: 'https://site.example.com/page' };
    const { job } = await link.submit(
      jobRequest({
        args: { tool: 'fetch_title', entry: 'fetch_title.js', input },
        inputs: [{ name: pin.name, media_id: pin.media_id, sha256: pin.sha256 }],
        egress: 'public',
      }),
      { person: ann },
    );
    const end = await link.follow(job.id, { person: ann, budgetMs: 30_000 });
    expect(end).toMatchObject({ state: 'succeeded', result: { status: 200, title: 'Hello' } });
    expect(await link.diagnostics?.(job.id, { person: ann })).toEqual({
      stderr: '',
      targets: [{ host: 'site.example.com', port: 443, allowed: true, bytes: expect.any(Number) }],
    });
  });

  const get = (name: string, options: string): string =>
    `called((resolve, reject) => require('${name}').get(${options}, (response) => {
      let text = ''; response.on('data', (chunk) => { text += chunk }).on('end', () => resolve(text));
    }).on('error', reject))`;

  it.each([
    ['fetch over TLS', `fetch('https://site.example.com/').then((response) => response.text())`],
    ['fetch', `fetch('http://site.example.com/').then((response) => response.text())`],
    [
      'fetch after a redirect',
      `fetch('https://site.example.com/?to=http://a.example.org/').then((response) => response.text())`,
    ],
    ['https', get('https', `'https://site.example.com/'`)],
    ['http', get('http', `'http://site.example.com/'`)],
    [
      'an agent of its own',
      get('https', `{ host: 'site.example.com', agent: new (require('https').Agent)({ keepAlive: true }) }`),
    ],
    [
      'an imported module',
      `import('node:https').then(({ default: https }) => ${get('https', `'https://site.example.com/'`).replace("require('https')", 'https')})`,
    ],
  ])('reads a page with %s', async (_, expression) => {
    expect(await runs(expression)).toBe('<title> Hello </title>');
  });

  it.each(['http', 'https'])(
    'is told that an agent of %s takes a callback, and not kept from its end',
    async (name) => {
      const code = `let said; try { new (require('${name}').Agent)().createConnection({ host: 'site.example.com', port: 80 }) }
      catch ({ code }) { said = code } process.stdout.write(JSON.stringify(said))`;
      const end = await sandbox.run(toolRun(code, { net: 'public' }));
      expect(end).toMatchObject({ kind: 'exited', value: 'ERR_INVALID_ARG_TYPE', targets: [] });
      expect(end.usage.wallMs).toBeLessThan(4000);
    },
  );

  it('keeps to OpenVibe when that is its net, and nobody is asked about another', async () => {
    const net = 'openvibe-only';
    expect(await runs(`fetch('https://api.openvibe.run/').then(({ status }) => status)`, { net })).toBe(200);
    expect(await runs(`fetch('https://site.example.com/')`, { net })).toMatchObject({
      denied: ['ERR_ACCESS_DENIED', expect.stringContaining('site.example.com:443')],
    });
    expect(
      await runs(`fetch('https://api.openvibe.run/?to=https://site.example.com/')`, { net }),
    ).toMatchObject({
      denied: ['ERR_ACCESS_DENIED', expect.stringContaining('site.example.com:443')],
    });
    expect(world.lookups).toEqual(['api.openvibe.run', 'api.openvibe.run']);
  });

  it.each([
    ['metadata', 'http://169.254.169.254/latest/meta-data/'],
    ['this machine', 'http://localhost/'],
    ['a private name', 'http://b.example.org/'],
    ['another port', 'https://site.example.com:8443/'],
  ])('is not led by a redirect to %s', async (_, to) => {
    world.names.set('b.example.org', [['10.0.0.1']]);
    const end = await run(`fetch('https://site.example.com/?to=${encodeURIComponent(to)}')`);
    expect(end).toMatchObject({
      kind: 'exited',
      value: { denied: expect.arrayContaining(['ERR_ACCESS_DENIED']) },
      targets: [
        { host: 'site.example.com', allowed: true },
        { allowed: false, bytes: 0 },
      ],
    });
    expect(world.dialled).toEqual([`${somewhere} 443`]);
  });

  it('is refused a server name that is not the one it asked for', async () => {
    const options = `{ host: 'site.example.com', servername: 'a.example.org' }`;
    expect(await runs(get('https', options))).toMatchObject({ denied: ['ECONNRESET'] });
    expect(world.requests).toEqual([]);
  });

  it('trusts no certificate that it does not know', async () => {
    const open = { backend: 'bwrap', directory: directory.path } as const;
    const strict = await openAdjustedSandbox(open, (command) => command, world.outside);
    const end = await strict.run(toolRun(answering(`fetch('https://site.example.com/')`), { net: 'public' }));
    await strict.close();
    expect(end).toMatchObject({ value: { denied: ['DEPTH_ZERO_SELF_SIGNED_CERT', expect.any(String)] } });
    expect(world.requests).toEqual([]);
  });

  const socket = (options: string): string =>
    `called((resolve, reject) => require('net').connect(${options}).on('connect', () => resolve('reached')).on('error', reject))`;

  it.each([
    ['a TCP connection', socket(`443, '${somewhere}'`), ['EACCES']],
    ['a TCP connection of version 6', socket(`443, '::1'`), ['EACCES']],
    ['a connection to another unix socket', socket(`'/run/dbus/system_bus_socket'`), ['ENOENT']],
    [
      'a UDP packet',
      `called((resolve, reject) => require('dgram').createSocket('udp4').on('error', reject).send('x', 53, '1.1.1.1', (error) => error ? reject(error) : resolve('sent')))`,
      ['EACCES'],
    ],
    [
      'a server',
      `called((resolve, reject) => require('net').createServer().on('error', reject).listen(0, '127.0.0.1', resolve))`,
      ['EACCES'],
    ],
    ['a look-up', `require('dns').promises.lookup('site.example.com')`, ['EAI_AGAIN']],
    ['a question to a DNS server', `require('dns').promises.resolve4('site.example.com')`, ['ECONNREFUSED']],
  ])('cannot make %s', async (_, expression, codes) => {
    expect(await runs(expression)).toEqual({ denied: codes });
    expect([...world.lookups, ...world.dialled]).toEqual([]);
  });

  it('is still held by its own network namespace where the filter is taken from it', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    // After the probe, which would withhold the network.
    let probed = false;
    const unfiltered = await openAdjustedSandbox(
      { backend: 'bwrap', directory: directory.path },
      (command) => {
        if (!probed) return command;
        const at = command.args.includes('/egress') ? command.args.indexOf('--seccomp') : -1;
        return at === -1 ? command : { ...command, args: command.args.toSpliced(at, 2) };
      },
      world.outside,
    );
    probed = true;
    const tool = (expression: string) => toolRun(answering(expression), { net: 'public' });
    const here = await unfiltered.run(tool(socket(`${port}, '127.0.0.1'`)));
    expect(here).toMatchObject({ value: { denied: ['ECONNREFUSED'] } });
    const out = await unfiltered.run(tool(socket(`443, '${somewhere}'`)));
    expect(out).toMatchObject({ value: { denied: ['ENETUNREACH'] } });
    await unfiltered.close();
    server.close();
  });

  it('asks in vain for whatever is not a public host and a port of the web, and the person is told all of it', async () => {
    for (const [name, ...answers] of [
      ['inner.example.org', ['10.0.0.1']],
      ['mixed.example.org', [somewhere, '192.168.0.1']],
      ['mapped.example.org', ['::ffff:127.0.0.1']],
      ['nat64.example.org', ['64:ff9b::7f00:1']],
      ['turns.example.org', [somewhere], ['127.0.0.1']],
    ] as [string, ...string[][]][]) {
      world.names.set(name, answers);
    }
    const refused: [host: string, port: number][] = [
      ['none.example.org', 80],
      ['169.254.169.254', 80],
      ['inner.example.org', 80],
      ['mixed.example.org', 443],
      ['turns.example.org', 80],
      ['mapped.example.org', 80],
      ['nat64.example.org', 443],
      ['2130706433', 80],
      ['0x7f000001', 80],
      ['0177.0.0.1', 80],
      ['site.example.com.', 443],
      ['user@site.example.com', 443],
      ['site.example.com', 22],
      ['site.example.com', 53],
      ['site.example.com', 8443],
    ];
    const code = `const asks = (authority) => new Promise((resolve) => {
        let heard = ''; const socket = require('net').connect('/egress').on('close', () => resolve(heard));
        socket.on('data', (data) => { heard += String(data).slice(9, 12); socket.end(); });
        socket.write('CONNECT ' + authority + ' HTTP/1.1\\r\\n\\r\\n') });
      let text = ''; process.stdin.on('data', (data) => { text += data }).on('end', async () => {
        const said = []; for (const one of JSON.parse(text).list) said.push(await asks(one));
        process.stdout.write(JSON.stringify(said)) });`;
    const open = { backend: 'bwrap', directory: directory.path } as const;
    await using link = createLink({ owner: ann.subject, skills: 'on' }, () =>
      openAdjustedSandbox(open, trusting, world.outside),
    ).link;
    const pin = { mediaId: 'med_01JAB2C3D4E5F6G7H8J9K0MN0T', sha256: await sha256(utf8(code)) };
    link.provide([{ ...pin, bytes: utf8(code) }]);
    // One that is let through before it turns, and a NUL, which is no request at all.
    const list = ['turns.example.org:80', ...refused.map((one) => one.join(':')), 'site.example.com\0:80'];
    const { job } = await link.submit(
      jobRequest({
        args: { tool: 'ask', entry: 'ask.js', input: { list } },
        inputs: [{ name: 'ask.js', media_id: pin.mediaId, sha256: pin.sha256 }],
        egress: 'public',
      }),
      { person: ann },
    );
    const end = await link.follow(job.id, { person: ann, budgetMs: 30_000 });
    expect(end).toMatchObject({ state: 'succeeded', result: ['200', ...refused.map(() => '403'), '400'] });
    expect((await link.diagnostics?.(job.id, { person: ann }))?.targets).toEqual([
      { host: 'turns.example.org', port: 80, allowed: false, bytes: 0 },
      ...refused.map(([host, port]) => ({ host, port, allowed: false, bytes: 0 })),
    ]);
    expect(world.dialled).toEqual([`${somewhere} 80`]);
    expect(world.requests).toEqual([]);
  });

  it('gets a refusal, and no page, for a request to the proxy itself', async () => {
    const plain = `called((resolve, reject) => { const socket = require('net').connect('/egress'); let text = '';
      socket.on('data', (chunk) => { text += chunk }).on('close', () => resolve(text.slice(0, 12))).on('error', reject)
        .write('GET http://site.example.com/ HTTP/1.1\\r\\nHost: site.example.com\\r\\n\\r\\n') })`;
    expect(await runs(plain)).toBe('HTTP/1.1 405');
    expect([...world.lookups, ...world.dialled]).toEqual([]);
  });

  it('leaves no connection behind, however it ends', async () => {
    const open = new Set<Socket>();
    const server = createServer((one) => {
      open.add(
        one
          .resume()
          .on('error', () => undefined)
          .on('close', () => open.delete(one)),
      );
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const dial = (): Socket => connect(port, '127.0.0.1');
    const own = await openAdjustedSandbox(
      { backend: 'bwrap', directory: directory.path },
      (command) => command,
      { ...world.outside, dial },
    );
    const stop = new AbortController();
    const running = own.run(
      toolRun(answering(`fetch('http://site.example.com/')`), { net: 'public', signal: stop.signal }),
    );
    expect(await eventually(() => open.size === 1)).toBe(true);
    stop.abort();
    expect(await running).toMatchObject({ kind: 'cancelled', targets: [{ host: 'site.example.com' }] });
    expect(await eventually(() => open.size === 0)).toBe(true);
    await own.close();
    server.close();
  });

  it('is the only one to see the socket', async () => {
    expect(await runs(socket(`'/egress'`))).toBe('reached');
    expect(await runs(socket(`'/egress'`), { net: 'deny' })).toEqual({ denied: ['EACCES'] });
  });
});

it('is refused where no filter would hold it', async () => {
  await using directory = await makeDirectory();
  const sandbox = await openAdjustedSandbox(
    { backend: 'util-linux', directory: directory.path },
    (command) => command,
  );
  expect(sandbox.nets).toEqual(['deny']);
  for (const net of ['openvibe-only', 'public'] as const) {
    expect(await sandbox.run(toolRun('', { net }))).toMatchObject({ kind: 'refused', targets: [] });
  }
  await sandbox.close();
});
