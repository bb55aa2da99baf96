import { expect, it } from 'vitest';
import { launch } from '../../../src/link/sandbox/launch.ts';

it('a keeper that is killed while it builds ends its run, though a child of it holds the pipes', async () => {
  const launched = await launch({ file: '/bin/sh', args: ['-c', 'sleep 4 & kill -9 $$'] });
  const started = performance.now();
  expect(await launched.exit).toEqual({ code: null, signal: 'SIGKILL' });
  expect(performance.now() - started).toBeLessThan(3500);
});

it('all that a process has written is read, also when it ends at once', async () => {
  const launched = await launch({ file: '/bin/sh', args: ['-c', 'head -c 60000 /dev/zero'] });
  let size = 0;
  launched.stdout.on('data', (chunk: Buffer) => {
    size += chunk.length;
  });
  expect(await launched.exit).toEqual({ code: 0, signal: null });
  expect(size).toBe(60_000);
});
