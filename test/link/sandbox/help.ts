import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Backend, ToolRun } from '../../../src/link/sandbox/types.ts';
import type { WarmPoolTimes } from '../../../src/link/sandbox/warm-pool.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';

/** The backends this machine has: util-linux always, bwrap where it is installed. */
export const backends: Backend[] = hasBwrap() ? ['bwrap', 'util-linux'] : ['util-linux'];

function hasBwrap(): boolean {
  try {
    execFileSync('bwrap', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Times of a pool that starts the next one right after a run, so that a test need not wait for it. */
export const atOnce: WarmPoolTimes = { restMs: 0 };

/** A run of one file of code, named `main.js` unless said otherwise. */
export function toolRun(code: string, more: Partial<ToolRun> = {}): ToolRun {
  const entry = more.entry ?? 'main.js';
  const files = [{ path: entry, bytes: Buffer.from(code) }];
  return { files, entry, input: {}, limits: defaultLimits, net: 'deny', ...more };
}

/** A folder for a test's sandboxes that their user can pass through. */
export async function makeDirectory(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'sandbox-test-'));
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}

/** The processes of this machine, zombies aside, whose command line holds `text`. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Waits until `holds` does, for 5 s at most; says whether it came to hold. */
export async function eventually(holds: () => boolean): Promise<boolean> {
  for (let tries = 0; tries < 1500; tries += 1) {
    // Once is enough: what is counted may come and go.
    if (holds()) return true;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return false;
}

/** JavaScript that is a tool's list of open descriptors, from 0 to 63: each with the kind that fstat tells. */
export const openDescriptors = `(() => {
  const { constants: { S_IFMT }, fstatSync } = require('node:fs');
  return Array.from({ length: 64 }, (_, fd) => {
    try { return [fd, (fstatSync(fd).mode & S_IFMT).toString(8)]; } catch { return []; }
  }).filter(({ length }) => length > 0);
})()`;
