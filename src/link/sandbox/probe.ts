import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { randomHex } from '../../ids.ts';
import { defaultLimits } from '../../skill/caps.ts';
import { bareCommand } from './command.ts';
import type { Ground } from './ground.ts';
import { LackedLayers } from './layer.ts';
import { listen } from './listen.ts';
import {
  askCanary,
  hasInnerLayers,
  lacksOf,
  layersSeen,
  leaks,
  probeRun,
  requireDeathWith,
  unavailable,
  unwatched,
} from './probe-canary.ts';
import { runTool } from './run.ts';
import { makeFile } from './tree.ts';
import { startWarm } from './warm.ts';
import type { WarmPool } from './warm-pool.ts';

// Tries what no tool may do, with none of Node's own layers in its way, says how it went, and waits to be
// looked at, and killed.
const canary = `
const fs = require('node:fs');
const net = require('node:net');
setInterval(() => {}, 60_000);
process.stdin.once('data', (data) => {
  const { file, name, port } = JSON.parse(data);
  let read = false;
  try { fs.readFileSync(file); read = true; } catch {}
  // Only what is mounted read-only says EROFS: a refusal by owner and mode would be another layer's.
  const writes = (folder) => {
    try { fs.writeFileSync(folder + 'written', ''); return true; } catch ({ code }) { return code !== 'EROFS'; }
  };
  const [written, added] = [['/', '/rt/', '/lib/'].some(writes), writes('/in/')];
  const answer = (reached) =>
    process.stdout.write(JSON.stringify({ read, written, added, seen: name in process.env, reached }) + '\\n');
  net.connect(port, '127.0.0.1').on('connect', () => answer(true)).on('error', () => answer(false));
});`;

// The layer that what a canary could do is a lack of.
const betrays = {
  read: 'root',
  written: 'root',
  added: 'code',
  seen: 'environment',
  reached: 'namespaces',
} as const;

// Repeats its input.
const echo = `
let text = '';
process.stdin.on('data', (data) => { text += data; }).on('end', () =>
  process.stdout.write(JSON.stringify({ ...JSON.parse(text), inner: ${hasInnerLayers} })));`;

/**
 * Shows that a sandbox holds before anything is trusted to it.
 *
 * @throws `link_unavailable` with the reason and what mends it
 */
export async function probe(ground: Ground): Promise<void> {
  const { backend } = ground;
  const secret = join(ground.base.path, `secret-${randomHex(8)}`);
  makeFile(secret, randomBytes(16));
  const listener = createServer((socket) => socket.destroy()).unref();
  try {
    const question = {
      file: secret,
      name: `OPENVIBE_CANARY_${randomHex(8)}`,
      port: await listen(listener, { host: '127.0.0.1', port: 0 }),
    };
    const run = probeRun('canary.js', canary);
    const inside = bareCommand(defaultLimits, run.entry);
    await askCanary(
      ground,
      { run, inside, question, environment: { [question.name]: '1' } },
      async (said, keeper) => {
        const breaches = Object.entries(betrays).filter(([name]) => said[name] !== false);
        const lacks = lacksOf(keeper.pid, backend);
        const absent = [...breaches.map(([, layer]) => layer), ...lacks.map(({ layer }) => layer)];
        const how = [
          ...(breaches.length > 0
            ? [`a canary inside got out of it (${breaches.map(([name]) => name).join(', ')})`]
            : []),
          ...(lacks.length > 0 ? [`it lacks ${lacks.map(({ what }) => what).join(', ')}`] : []),
        ];
        if (how.length > 0) throw leaks(how.join('; '), absent, layersSeen(backend));
        await requireDeathWith(keeper, backend);
      },
    );
  } finally {
    listener.close();
    await rm(secret, { force: true });
  }
  await answersWithAllLayers(ground);
}

const anotherNode = 'Pass `node`, the path of another Node binary, such as one from nodejs.org.';

// Whether a tool answers; one that answers shows whether all layers are there.
async function repeats(ground: Ground, pool?: Pick<WarmPool, 'take' | 'release'>): Promise<boolean> {
  const nonce = randomHex(16);
  const end = await runTool(ground, { ...probeRun('echo.js', echo), input: { nonce } }, pool);
  const value = end.kind === 'exited' ? (end.value as { nonce?: unknown; inner?: unknown } | null) : null;
  if (value?.nonce !== nonce) return false;
  if (end.usage.memPeakBytes === null) throw leaks(unwatched, ['limits']);
  if (value.inner !== true) {
    const reason = "The sandbox does not hold: it lacks Node's own layers.";
    const seen = [...layersSeen(ground.backend), 'output'] as const;
    throw unavailable({ reason, remedy: anotherNode }, new LackedLayers(['node'], seen));
  }
  return true;
}

/**
 * Lets a tool answer, and say that Node's own layers are there.
 *
 * @throws `link_unavailable` where it does not
 */
export async function answersWithAllLayers(ground: Ground): Promise<void> {
  if (await repeats(ground)) return;
  const reason = 'A tool that only repeats its input did not answer inside the sandbox.';
  throw unavailable({ reason, remedy: anotherNode });
}

/**
 * Lets a tool answer in a sandbox that was started ahead, as {@link answersWithAllLayers} does in another; `false`
 * where there is none that answers, so that each is built when there is a job.
 *
 * @throws `link_unavailable` where it lacks a layer
 */
export async function holdsWarm(ground: Ground): Promise<boolean> {
  const warm = await startWarm(ground);
  if (warm === undefined) return false;
  try {
    return await repeats(ground, { take: async () => warm, release: () => undefined });
  } finally {
    await warm.discard();
  }
}
