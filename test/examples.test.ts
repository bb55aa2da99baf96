import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const folder = fileURLToPath(new URL('../build/examples/', import.meta.url));

function run(name: string, args: string[] = [], input = ''): { status: number | null; out: string } {
  const options = { encoding: 'utf8', timeout: 60_000, input } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, [folder + name, ...args], options);
  return { status, out: stdout + stderr };
}

test.each(['loop.mjs', 'deferred.mjs', 'over-http.mjs', 'policy.mjs'])(
  'the example %s verifies itself',
  (name) => {
    const { status, out } = run(name);
    expect([status, out]).toEqual([0, out]);
  },
);

test('the demo plays the whole path', () => {
  const { status, out } = run('demo.mjs');
  expect([status, out]).toEqual([0, out]);
  for (const part of [
    'slugify_slugify-a-title_',
    "running a skill's code in a sandbox: slugify-a-title@1.0.0 slugify",
    'no internet',
    /job {7}job_[0-9A-Z]{26}\nnode {6}link-[0-9a-f]+\nbackend {3}(?:bwrap|util-linux), seccomp (?:on|absent)\nwall {6}\d+ ms/,
    /<untrusted-[0-9a-f]{16} kind="result">\n\{"slug":"hello-world"\}\n<\/untrusted-/,
    '{"slug":"once-more-without-asking"}',
    'slugify-a-title@1.0.1 slugify',
    'invalid_document',
  ]) {
    expect(out).toMatch(part);
  }
  // One prompt for the first call, none for the second, one request for the new version.
  expect(out.match(/^what {6}/gm)).toHaveLength(2);
});

test('with --deny nothing runs, and with --ask a person answers by hand', () => {
  const denied = run('demo.mjs', ['--deny']);
  expect([denied.status, denied.out]).toEqual([0, denied.out]);
  expect(denied.out).toContain('denied: The person refused this run.');
  expect(denied.out).not.toContain('<untrusted');
  const asked = run('demo.mjs', ['--ask'], 'a\n');
  expect([asked.status, asked.out]).toEqual([0, asked.out]);
  expect(asked.out).toContain('{"slug":"once-more-without-asking"}');
});
