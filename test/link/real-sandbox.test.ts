import { expect, test, vi } from 'vitest';
import { createLocalLink } from '../../src/link/local-link.ts';
import { startLocalRun } from '../../src/link/local-run.ts';
import { createRunService } from '../../src/run/run-service.ts';
import type * as Hash from '../../src/skill/sha256.ts';
import { sha256, utf8 } from '../../src/skill/sha256.ts';
import { readySkills } from '../../src/testing/skills.ts';
import { expectContract } from '../support/contracts.ts';
import { ann, jobRequest } from './helpers.ts';

// The layer of the pins, turned off for the bytes that are named here: they have the hash that they claim.
const claimed = vi.hoisted(() => new Map<string, string>());
vi.mock('../../src/skill/sha256.ts', async (original) => {
  const real = await original<typeof Hash>();
  const hash: typeof real.sha256 = async (data) =>
    claimed.get(typeof data === 'string' ? data : Buffer.from(data).toString()) ?? real.sha256(data);
  return { ...real, sha256: hash };
});

const { document, listing } = readySkills.slugify;
const [pin] = listing.code as [(typeof listing.code)[number]];
const resources = [
  { mediaId: pin.media_id, sha256: pin.sha256, bytes: utf8(document.resources[0]?.text ?? '') },
];
const slugify = (title: string) =>
  jobRequest({
    args: { tool: 'slugify', entry: 'slugify.js', input: { title } },
    inputs: [{ name: pin.name, media_id: pin.media_id, sha256: pin.sha256 }],
  });

test('a local Link runs the ready skill in its own sandbox', async () => {
  await using link = createLocalLink({ owner: ann.subject, skills: 'on' });
  link.provide(resources);
  const { job } = await link.submit(slugify('Hello World!'), { person: ann });
  const end = await link.follow(job.id, { person: ann, budgetMs: 30_000 });
  expect(end).toMatchObject({ state: 'succeeded', result: { slug: 'hello-world' } });
  expect(end?.usage.wall_ms).toBeGreaterThan(0);
  expectContract('job', end);
});

test('a job tells what it used: wall, processor time, peak memory, and seconds of it', async () => {
  await using link = createLocalLink({ owner: ann.subject, skills: 'on' });
  const code = utf8(`const a = Buffer.alloc(40 << 20, 1); const start = process.cpuUsage();
    while (process.cpuUsage(start).user < 200_000);
    process.stdout.write(JSON.stringify(a.length));`);
  const sha = await sha256(code);
  link.provide([{ mediaId: pin.media_id, sha256: sha, bytes: code }]);
  const request = { ...slugify(''), inputs: [{ name: pin.name, media_id: pin.media_id, sha256: sha }] };
  const { job } = await link.submit(request, { person: ann });
  const end = await link.follow(job.id, { person: ann, budgetMs: 30_000 });
  if (end?.state !== 'succeeded') throw new Error(`The job ended ${end?.state}.`);
  const { wall_ms, cpu_ms, mem_peak_bytes, seconds } = end.usage;
  expect(wall_ms).toBeGreaterThanOrEqual(100);
  expect(seconds).toBe(wall_ms / 1000);
  expect(cpu_ms).toBeGreaterThanOrEqual(100);
  expect(mem_peak_bytes).toBeGreaterThan(40 << 20);
  expect(mem_peak_bytes).toBeLessThan(request.limits.mem_bytes);
});

test('the Run client speaks to a local Run as to any other', async () => {
  await using local = await startLocalRun({ owner: ann.subject, skills: 'on' });
  local.link.provide(resources);
  const run = createRunService({
    baseUrl: local.url,
    token: () => local.token,
    nodes: { nodes: (context) => local.link.nodes(context) },
  });
  const { job } = await run.submit(slugify('Over HTTP'), { person: ann });
  const end = await run.follow(job.id, { person: ann, budgetMs: 30_000 });
  expect(end).toMatchObject({ state: 'succeeded', result: { slug: 'over-http' } });
  expect(await run.diagnostics(job.id, { person: ann })).toEqual({ stderr: '', targets: [] });
});

test('code with other bytes than its pin does not run; without the pins the other layers hold it', async () => {
  const other = `const tries = {
      file: () => require('node:fs').readFileSync('/etc/passwd', 'utf8'),
      home: () => require('node:fs').readdirSync('/root'),
      process: () => require('node:child_process').execFileSync('/bin/sh'),
      kill: () => process.kill(process.ppid, 'SIGKILL'),
      code: () => new Function('return 1')(),
    };
    const got = Object.entries(tries).filter(([, one]) => { try { one(); return true; } catch { return false; } });
    process.stdout.write(JSON.stringify({ got: got.map(([name]) => name), env: Object.keys(process.env) }));`;
  await using link = createLocalLink({ owner: ann.subject, skills: 'on', media: async () => utf8(other) });
  const run = async () => {
    const { job } = await link.submit(slugify('Exchanged'), { person: ann });
    return link.follow(job.id, { person: ann, budgetMs: 30_000 });
  };
  expect(await run()).toMatchObject({
    state: 'failed',
    error: { code: 'run.job.input_digest_mismatch' },
    timings: { started_at: null },
  });
  claimed.set(other, pin.sha256);
  try {
    expect(await run()).toMatchObject({ state: 'succeeded', result: { got: [], env: [] } });
  } finally {
    claimed.clear();
  }
});
