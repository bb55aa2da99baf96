import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { processTree } from '../../../src/link/sandbox/process-tree.ts';
import { eventually } from './help.ts';

it('counts what is swapped out and the tables of pages as memory', async () => {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' });
  const pid = child.pid ?? 0;
  const kilobytes = (name: string): number => {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]);
  };
  const counted = (): number =>
    ['RssAnon', 'RssShmem', 'VmSwap', 'VmPTE'].reduce((sum, name) => sum + kilobytes(name), 0);
  // It may still be starting, and change between two looks.
  expect(await eventually(() => processTree(pid)[0]?.memBytes === counted() * 1024)).toBe(true);
  expect(kilobytes('VmPTE')).toBeGreaterThan(0);
  child.kill('SIGKILL');
});
