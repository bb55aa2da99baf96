import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Job } from '../../src/run/wire.ts';
import { jobErrorCode, jobSchema, streamTicketSchema } from '../../src/run/wire-schemas.ts';
import { expectContract, isOfContract } from '../support/contracts.ts';
import { ids, jobIn } from './support/jobs.ts';

const failed = (error: object): Job => jobIn('failed', { error: error as Job['error'] });
const placedOn = (placement: object): Job => jobIn('succeeded', { placement: placement as Job['placement'] });
const { timings } = jobIn('queued');

describe('what the contract takes of a job is taken', () => {
  const taken: [string, Job][] = [
    ['a long error code', failed({ code: `run.job.${'a'.repeat(4000)}`, detail: null })],
    ['an error code of many words', failed({ code: `run${'.a'.repeat(1_000_000)}`, detail: null })],
    ['the longest detail', failed({ code: 'run.x', detail: '😀'.repeat(1024) })],
    [
      'the longest names',
      placedOn({ node: '😀'.repeat(128), provider: '😀'.repeat(128), region: '😀'.repeat(64) }),
    ],
    ['empty names', placedOn({ node: 'n', provider: '', region: '' })],
    [
      'a time of many digits',
      jobIn('queued', { timings: { ...timings, created_at: `2026-01-01T00:00:00.${'0'.repeat(80)}Z` } }),
    ],
    ['amounts beyond exact whole numbers', jobIn('queued', { ttl_ms: 1e300 })],
    [
      'no usage to speak of',
      jobIn('queued', { usage: { seconds: 0, wall_ms: 0, cpu_ms: null, mem_peak_bytes: null } }),
    ],
    ['a negative exit code', jobIn('failed', { exit: { reason: 'exited', code: -1 } })],
    ['another class', jobIn('queued', { class: 'linux', artifact: null })],
    ['a service as its requester', jobIn('queued', { requester: { type: 'service', id: 'a'.repeat(40) } })],
  ];
  test.each(taken)('%s', (_name, job) => {
    expectContract('job', job);
    expect(jobSchema.safeParse(job).success).toBe(true);
  });

  test('texts up to their last code point, and not one more', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1000, maxLength: 1060 }), (detail) => {
        const job = failed({ code: 'run.x', detail });
        expect(jobSchema.safeParse(job).success).toBe(isOfContract('job', job));
      }),
      { numRuns: 50 },
    );
  });

  test('an error code exactly where it is of the contract', () => {
    const unit = fc.constantFrom('a', '9', '_', '.', '.', 'A', '\n', 'run.');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (tail) => {
        const code = `run.${tail}`;
        expect(jobErrorCode.safeParse(code).success).toBe(
          isOfContract('job', failed({ code, detail: null })),
        );
      }),
      { numRuns: 500 },
    );
  });

  test('an error code of 20 MB overflows nothing', () => {
    const code = `run${'.a'.repeat(10_000_000)}`;
    expect(jobErrorCode.safeParse(code).success).toBe(true);
    expect(jobErrorCode.safeParse(`${code}!`).success).toBe(false);
  });
});

test('a ticket with a long URL is taken', () => {
  const ticket = {
    ticket: `a.${'b'.repeat(4092)}.c`,
    expires_at: '2026-01-01T00:02:00Z',
    expires_in: 120,
    stream_url: `https://run.example/${'x/'.repeat(2000)}api/v1/jobs/${ids.job}/stream`,
    job_id: ids.job,
  };
  expectContract('job-stream-ticket', ticket);
  expect(streamTicketSchema.safeParse(ticket).success).toBe(true);
});
