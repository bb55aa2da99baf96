import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createSkillGateway } from '../../src/gateway/gateway.ts';
import { modelText } from '../../src/gateway/model-text.ts';
import { createNodeDirectory } from '../../src/run/nodes.ts';
import { createRunService } from '../../src/run/run-service.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { MockFault } from '../../src/testing/mock-faults.ts';
import {
  agentId,
  ann,
  approve,
  ben,
  eventNames,
  harness,
  passing,
  seedSet,
  token,
  until,
} from '../support/harness.ts';

const argument = 'ARGUMENT-5f1c';
const result = 'RESULT-77ab';

describe('C104: who a call is for', () => {
  const bad = [
    'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ\r\nX-OV-Project: prj_01JBBBBBBBBBBBBBBBBBBBBBBB',
    'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ\n',
    ' usr_01JAB2C3D4E5F6G7H8J9K0MNPQ',
    'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ ',
    'usr_01jab2c3d4e5f6g7h8j9k0mnpq',
    'usr_01JAB2C3D4E5F6G7H8J9K0MNP',
    'USR_01JAB2C3D4E5F6G7H8J9K0MNPQ',
    'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ',
    'usr_01JAB2C3D4E5F6G7H8J9K0MNPQ\0',
    '',
    null,
    undefined,
    {
      toString: () => ann.subject,
    },
    [ann.subject],
  ];
  test('a wrong subject, project or agent is refused at construction, and is not repeated', async () => {
    const h = await harness();
    for (const subject of bad) {
      const project = typeof subject === 'string' ? subject.replace('usr_', 'prj_') : subject;
      const options = [
        { person: { subject, project: ann.project } },
        ...(project === 'prj_01JAB2C3D4E5F6G7H8J9K0MNPQ'
          ? []
          : [{ person: { subject: ann.subject, project } }]),
        { agent: { id: typeof subject === 'string' ? subject.replace('usr_', 'agt_') : subject } },
      ];
      for (const change of options) {
        if (change.agent?.id === agentId) continue;
        let error: unknown;
        try {
          h.other(change as never);
        } catch (thrown) {
          error = thrown;
        }
        expect(error).toMatchObject({ code: 'option_invalid' });
        if (typeof subject === 'string' && subject.length > 4)
          expect(inspect(error)).not.toContain(subject.slice(4));
      }
    }
  });

  test('the object that a gateway was made from cannot change its person', async () => {
    const person = { ...ann };
    const h = await harness({ gateway: { person, approver: approve } });
    Object.assign(person, ben);
    await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: 'a' } });
    const submit = h.mock.requests.find(({ method }) => method === 'POST');
    expect(submit?.headers['x-ov-subject']).toBe(ann.subject);
  });

  test('two persons interleaved 1000 times over one Run: each request is its own person’s', async () => {
    const agent = { id: agentId, level: 'auto' } as const;
    const h = await harness({ gateway: { agent, policy: () => ({ effect: 'allow' }) } });
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    const gateways = [
      { person: ann, gateway: h.gateway },
      { person: ben, gateway: h.other({ person: ben }) },
    ];
    const calls = Array.from({ length: 1000 }, (_, n) => n);
    // In small batches, so that the two persons' requests are always on their way together.
    for (let at = 0; at < calls.length; at += 40) {
      const outcomes = await passing(
        h.clock,
        Promise.all(
          calls.slice(at, at + 40).map((n) => {
            const of = gateways[n % 2] ?? gateways[0];
            return of?.gateway.call({
              id: `c${n}`,
              name: h.slugify,
              arguments: { title: of.person.subject },
            });
          }),
        ),
      );
      expect(outcomes.map((outcome) => outcome?.status)).toEqual(Array(40).fill('completed'));
    }
    process.off('warning', warned);
    expect(warnings).toEqual([]);
    const jobs = new Map<string, string>();
    for (const { method, path, headers, body } of h.mock.requests) {
      if (path.startsWith('/api/v1/offers')) continue;
      const person = headers['x-ov-subject'] === ann.subject ? ann : ben;
      expect([headers['x-ov-subject'], headers['x-ov-project']]).toEqual([person.subject, person.project]);
      if (method === 'POST' && path === '/api/v1/jobs') {
        expect(body).toMatchObject({
          args: { input: { title: person.subject } },
          requirements: { project_id: person.project },
        });
      } else {
        const job = path.split('/')[4] ?? '';
        expect(jobs.get(job) ?? person.subject).toBe(person.subject);
        jobs.set(job, person.subject);
      }
    }
    expect([h.mock.jobs, jobs.size]).toEqual([1000, 1000]);
  });

  test('nothing of a call, its arguments or a result changes a header', async () => {
    const h = await harness({ gateway: { approver: approve } });
    const hostile = 'a\r\nX-OV-Subject: usr_01JBBBBBBBBBBBBBBBBBBBBBBB';
    h.mock.next({ result: { headers: { 'x-ov-subject': ben.subject } }, output: [hostile] });
    const calls = [
      { id: hostile, name: h.slugify, arguments: { title: hostile } },
      { id: 'c2', name: h.slugify, arguments: { title: 'x', subject: ben.subject } },
      { id: 'c3', name: hostile, arguments: { 'x-ov-subject': ben.subject } },
    ];
    await h.gateway.callAll(calls, { turn: hostile });
    await h.gateway.call({ id: 'c4', name: h.slugify, arguments: { title: 'after' } });
    const names = new Set<string>();
    for (const { path, headers } of h.mock.requests) {
      for (const name of Object.keys(headers)) names.add(name);
      if (path.startsWith('/api/v1/jobs')) expect(headers['x-ov-subject']).toBe(ann.subject);
    }
    expect([...names].sort()).toEqual([
      'accept',
      'authorization',
      'cache-control',
      'content-type',
      'traceparent',
      'x-openvibe-request-id',
      'x-ov-project',
      'x-ov-subject',
    ]);
    expect(JSON.stringify(h.mock.requests.map(({ headers }) => headers))).not.toContain(ben.subject);
  });
});

describe('C108: no secret travels with a pause', () => {
  test('a snapshot has no token, header or client, and making it asks for none', async () => {
    let asked = 0;
    let read = 0;
    // Any use of the token function but a call of it is a read.
    const source = new Proxy(() => token, {
      apply: () => {
        asked += 1;
        return token;
      },
      get: () => {
        read += 1;
      },
    });
    const store = createMemoryStore();
    const h = await harness();
    const run = createRunService({
      token: source,
      fetch: h.mock.fetch,
      clock: h.clock,
      nodes: createNodeDirectory({ fetch: h.mock.fetch, clock: h.clock, ownNodes: () => [] }),
    });
    const gateway = createSkillGateway({ person: ann, skills: await seedSet(), run, clock: h.clock, store });
    h.mock.next({ result });
    const running =
      (await gateway.call({ id: 'c1', name: h.slugify, arguments: { title: argument } })).step?.id ?? '';
    await gateway.approvals.approve(running, { by: ann.subject, always: true });
    await passing(h.clock, gateway.resume(running));
    const before = [asked, read];
    const waiting = await gateway.call({
      id: 'c2',
      name: h.fetchTitle,
      arguments: { url: 'https://a.example' },
    });
    const text = store.snapshot();
    JSON.stringify([await store.steps.get(waiting.step?.id ?? ''), await gateway.approvals.pending()]);
    expect([asked, read]).toEqual(before);
    expect(asked).toBeGreaterThan(0);
    expect(text).not.toContain(token);
    expect(text).not.toContain(result);
    expect(text).not.toMatch(/authorization|bearer|x-ov-/i);
    const record = JSON.parse(text).steps[0];
    expect(record).toEqual(await store.steps.get(record.id));
  });
});

describe('C114: what holds an argument, a result or the token', () => {
  const faults: (MockFault | undefined)[] = [
    undefined,
    {
      on: 'submit',
      kind: 'problem',
      status: 403,
      code: 'capability.denied',
      detail: `No: ${argument} ${token}`,
    },
    { on: 'submit', kind: 'problem', status: 500, code: `x.${argument}`, detail: token },
    { on: 'submit', kind: 'garbage', body: `${argument} ${token} ${result}` },
    { on: 'submit', kind: 'drop-before', times: 4 },
    { on: 'get', kind: 'garbage', body: `${argument} ${token} ${result}`, times: 4 },
    { on: 'offers', kind: 'problem', status: 401, code: 'token.expired', detail: token, times: 9 },
  ];
  test.each(faults)('the record alone has arguments, and nothing has the rest (%#)', async (fault) => {
    const store = createMemoryStore();
    const h = await harness({
      gateway: { store, approver: async () => ({ decision: 'approve', always: true }) },
    });
    const seen: unknown[] = [];
    for (const name of eventNames) h.gateway.on(name, (event) => void seen.push(event));
    if (fault) h.mock.fault(fault);
    h.mock.next({ result, stderr: `${argument} ${token}`, output: [result] });
    const outcome = await passing(
      h.clock,
      h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: argument } }),
    );
    const invalid = await h.gateway.call({
      id: 'c2',
      name: h.slugify,
      arguments: { title: argument, extra: argument },
    });
    const broken = await h.gateway.call({ id: 'c3', name: h.slugify, arguments: `{"title":"${argument}` });
    seen.push(outcome, invalid, broken, await store.audit.list(ann), await store.grants.list(ann));
    expect(outcome.message + modelText(invalid) + modelText(broken)).not.toMatch(
      /ARGUMENT|RESULT|secret-token/,
    );
    for (const shown of [JSON.stringify(seen), inspect(seen, { depth: 20, showHidden: true })]) {
      expect(shown).not.toContain(argument);
      expect(shown).not.toContain(result);
      expect(shown).not.toContain(token);
    }
    const text = store.snapshot();
    expect(text).toContain(argument);
    expect(text).not.toContain(token);
    const { audit, grants } = JSON.parse(text);
    expect(JSON.stringify([audit, grants])).not.toContain(argument);
    if (outcome.status === 'completed') expect(outcome.value.reveal()).toBe(result);
  });

  test('an error that a decision throws has none of it', async () => {
    const h = await harness();
    const waiting = await h.gateway.call({ id: 'c1', name: h.slugify, arguments: { title: argument } });
    const id = waiting.step?.id ?? '';
    const errors: unknown[] = [];
    const keep = (error: unknown): void => void errors.push(error);
    await h.gateway.approvals.approve(id, { by: ann.subject, digest: argument }).catch(keep);
    await h.gateway.approvals.approve(id, { by: argument }).catch(keep);
    await h.gateway.approvals.approve(id, { by: ann.subject, always: argument as never }).catch(keep);
    await h.gateway.approvals.deny(id, { by: ann.subject, reason: { argument } as never }).catch(keep);
    await h.gateway.approvals.deny(id, { by: ann.subject });
    await h.gateway.approvals.deny(id, { by: ann.subject }).catch(keep);
    await h.clock.advance(1);
    await until(() => errors.length === 5);
    expect(inspect(errors, { depth: 20 })).not.toContain(argument);
  });
});
