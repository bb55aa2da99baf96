import { describe, expect, test } from 'vitest';
import { differences, type JobField } from '../../src/run/differences.ts';
import { buildJobRequest, egressOf, idempotencyKey } from '../../src/run/job-request.ts';
import type { Job } from '../../src/run/wire.ts';
import { expectContract } from '../support/contracts.ts';
import { ann, ids, jobIn, parts, requestOf } from './support/jobs.ts';

describe('buildJobRequest', () => {
  test('C105: the network is the tool’s own, `deny` where it declares none', () => {
    expect(egressOf()).toBe('none');
    const asked = (['deny', 'openvibe-only', 'public', undefined] as const).map((net) => requestOf({ net }));
    expect(asked.map(({ egress }) => egress)).toEqual(['none', 'openvibe-only', 'public', 'none']);
    for (const request of asked) {
      expectContract('job-create-request', request);
      expect(request.requirements.resources.egress).toBe(request.egress);
      expect(request.requirements.capabilities).toEqual([
        'worker:function',
        'function:openvibe-skill-runner-1.0.0',
        `egress:${request.egress}`,
      ]);
    }
  });

  test('C105: the limits are the tool’s own, and the caps are the widest there is', () => {
    const widest = { wall_ms: 30_000, mem_bytes: 268_435_456 };
    expect(requestOf({ limits: widest }).limits).toEqual({ ...widest, cpu_ms: 30_000 });
    expect(requestOf({ limits: { wall_ms: 1, mem_bytes: 1 } }).limits).toEqual({
      wall_ms: 1,
      cpu_ms: 1,
      mem_bytes: 1,
    });
    for (const wider of [
      { wall_ms: 30_001 },
      { mem_bytes: 268_435_457 },
      { wall_ms: Number.POSITIVE_INFINITY },
    ]) {
      expect(() => requestOf({ limits: { ...widest, ...wider } })).toThrow(
        expect.objectContaining({ code: 'widening_refused' }),
      );
    }
    for (const none of [{ wall_ms: 0 }, { mem_bytes: -1 }, { wall_ms: 1.5 }, { mem_bytes: Number.NaN }]) {
      expect(() => requestOf({ limits: { ...widest, ...none } })).toThrow(
        expect.objectContaining({ code: 'option_invalid' }),
      );
    }
  });

  test('C52: what a job may take is the same however long a person thought about it', () => {
    const { ttl_ms, limits } = requestOf();
    expect({ ttl_ms, limits }).toEqual({
      ttl_ms: 120_000,
      limits: { wall_ms: 10_000, cpu_ms: 10_000, mem_bytes: 134_217_728 },
    });
  });

  test('it is the runner’s job, pinned file by file, for one tier', () => {
    const request = requestOf({ tier: 'pool' });
    expect(request).toMatchObject({
      class: 'function',
      artifact: { name: 'openvibe-skill-runner', version: '1.0.0' },
      args: { tool: 'slugify', entry: 'lib/slugify.js', input: { title: 'a' } },
      inputs: [{ name: 'lib.slugify.js', media_id: ids.media, sha256: 'a'.repeat(64), size_bytes: 120 }],
      requirements: { trust: ['first-party'], project_id: ids.annProject, resources: { memory_mb: 128 } },
    });
    expect(requestOf({ tier: 'own' }).requirements.trust).toEqual(['user-owned']);
  });

  const pin = parts.pins[0] ?? expect.fail();
  test.each([
    ['a path', [{ ...pin, name: 'lib/slugify.js' }]],
    ['a parent', [{ ...pin, name: '../slugify.js' }]],
    ['a name too long', [{ ...pin, name: `${'x'.repeat(128)}.js` }, pin]],
    ['a name twice', [pin, pin]],
    ['a name twice but for its case', [pin, { ...pin, name: 'LIB.slugify.js' }]],
    ['a hash that is none', [{ ...pin, sha256: 'A'.repeat(64) }]],
    ['a Media id that is none', [{ ...pin, mediaId: 'med_1' }]],
    ['a size that is none', [{ ...pin, size: -1 }]],
    ['no entry', [{ ...pin, name: 'lib.other.js' }]],
    ['nothing', []],
    [
      'more than 32',
      Array.from({ length: 33 }, (_, n) => ({ ...pin, name: n === 0 ? pin.name : `${n}.js` })),
    ],
  ])('pins with %s are refused', (_, pins) => {
    expect(() => buildJobRequest({ ...parts, pins })).toThrow(
      expect.objectContaining({ code: 'option_invalid' }),
    );
  });
});

describe('idempotencyKey', () => {
  test('C96: is the step’s and the attempt’s alone', () => {
    expect(idempotencyKey(ids.step, 1)).toBe(idempotencyKey(ids.step, 1));
    expect(idempotencyKey(ids.step, 1)).not.toBe(idempotencyKey(ids.step, 2));
    expect(idempotencyKey(ids.step, 1)).toMatch(/^[A-Za-z0-9._:-]{1,128}$/);
    for (const bad of [0, 1.5, -1, Number.NaN])
      expect(() => idempotencyKey(ids.step, bad)).toThrow('attempt');
    expect(() => idempotencyKey('c1', 1)).toThrow('stepId');
  });
});

describe('differences', () => {
  const request = requestOf();
  const input = request.inputs[0] ?? expect.fail();

  test('a job that is what was asked has none', () => {
    expect(differences(request, jobIn('succeeded'), ann)).toEqual([]);
    const { size_bytes: _, ...unsized } = input;
    expect(differences(request, jobIn('queued', { inputs: [unsized] }), ann)).toEqual([]);
    expect(differences(request, jobIn('queued', { requester: { type: 'agent', id: 'agt_1' } }), ann)).toEqual(
      [],
    );
  });

  test('the inputs may come in any order', () => {
    const other = { ...input, name: 'b.js' };
    const two = { ...request, inputs: [input, other] };
    expect(differences(two, jobIn('queued', { inputs: [other, input] }), ann)).toEqual([]);
    expect(differences(two, jobIn('queued', { inputs: [input, input] }), ann)).toEqual(['inputs']);
  });

  const changes: [JobField, Partial<Job>][] = [
    ['project', { project_id: ids.bobProject }],
    ['requester', { requester: { type: 'user', id: ids.bob } }],
    ['class', { class: 'code' }],
    ['artifact', { artifact: { ...request.artifact, version: '1.0.1' } }],
    ['artifact', { artifact: null }],
    ['inputs', { inputs: [] }],
    ['inputs', { inputs: [{ ...input, sha256: 'b'.repeat(64) }] }],
    ['inputs', { inputs: [{ ...input, name: 'lib.other.js' }] }],
    ['inputs', { inputs: [{ ...input, size_bytes: 121 }] }],
    ['inputs', { inputs: [input, { ...input, name: 'more.js' }] }],
    ['egress', { egress: 'public' }],
    ['limits', { limits: { ...request.limits, wall_ms: 10_001 } }],
    ['limits', { limits: { ...request.limits, cpu_ms: 1 } }],
    ['idempotency_key', { idempotency_key: null }],
    ['idempotency_key', { idempotency_key: idempotencyKey(ids.step, 2) }],
  ];
  test.each(changes)('%s: %j', (field, change) => {
    expect(differences(request, jobIn('queued', change), ann)).toEqual([field]);
  });
});
