import { afterEach, expect, it, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const said = { out: '', err: '' };
  const code = await runCli(args, {
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
  });
  return { code, ...said };
}

it('says how it is used when asked to', async () => {
  expect(await run('--help')).toMatchObject({ code: 0, out: expect.stringContaining('doctor'), err: '' });
});

it.each([
  [[]],
  [['docter']],
  [['doctor', 'now']],
  [['doctor', '--jason']],
  [['doctor', '--backend', 'docker']],
  [['doctor', '--node', '']],
])('takes no %j', async (args) => {
  expect(await run(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining('doctor') });
});

it('ends with 1 where skills cannot run', async () => {
  vi.stubEnv('PATH', '/nowhere');
  expect(await run('doctor')).toMatchObject({ code: 1, out: expect.stringContaining('cannot run'), err: '' });
});
