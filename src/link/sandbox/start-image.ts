import { execFile } from 'node:child_process';
import { renameSync } from 'node:fs';
import { readFile, stat, truncate } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { defaultLimits, type Limits } from '../../skill/caps.ts';
import type { BaseFolder } from './base-folder.ts';
import { sandboxIds } from './host.ts';
import { v8Flags } from './limits.ts';
import type { NodeBinary } from './node-binary.ts';
import { makeFile } from './tree.ts';

/**
 * Where a tool's Node finds its start image inside. V8 takes no compiled code that was made under other flags than
 * it runs under, so with a tool's flags Node would compile each of its own modules anew. The image is Node's own
 * snapshot, made once under those flags. It holds no code but Node's.
 */
export const imagePath = '/rt/image';

const maxBytes = 33_554_432;
const patienceMs = 10_000;

// By binary and flags, as long as this process lives.
const known = new Map<string, Promise<Uint8Array>>();

/** Whether the image was made under the flags of a run with these limits. */
export function fitsImage(node: NodeBinary, limits: Limits): boolean {
  return v8Flags(node, limits).join() === v8Flags(node, defaultLimits).join();
}

/**
 * Lays the start image of tools with the default memory into a sandbox's folder. Rejects where Node cannot make it:
 * tools start without, and a little later.
 *
 * @param signal gives it up
 */
export async function layStartImage(node: NodeBinary, base: BaseFolder, signal: AbortSignal): Promise<void> {
  const key = [node.stamp, ...v8Flags(node, defaultLimits)].join('\0');
  const making = known.get(key) ?? make(node, base, signal);
  known.set(key, making);
  // One that was given up is made when it is next asked for.
  making.catch(() => known.delete(key));
  const bytes = await making;
  const place = join(base.runtime, basename(imagePath));
  makeFile(`${place}.new`, bytes);
  renameSync(`${place}.new`, place);
}

async function make(node: NodeBinary, base: BaseFolder, signal: AbortSignal): Promise<Uint8Array> {
  const flags = [...v8Flags(node, defaultLimits), '--snapshot-blob', base.image];
  try {
    await run(node.path, [...flags, '--build-snapshot', join(base.runtime, 'image.cjs')], signal);
    const { size } = await stat(base.image);
    if (size === 0 || size > maxBytes) throw new Error('That is no image.');
    return await readFile(base.image);
  } finally {
    await truncate(base.image).catch(() => undefined);
  }
}

function run(path: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    // Node hands its coverage folder down unless the name stands here.
    const env = { NODE_V8_COVERAGE: undefined };
    const options = { cwd: '/', env, timeout: patienceMs, signal, ...sandboxIds() };
    execFile(path, [...args], options, (error) => (error === null ? resolve() : reject(error)));
  });
}
