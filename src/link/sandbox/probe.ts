import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { SkillRunError } from '../../errors.ts';
import { randomHex } from '../../ids.ts';
import { defaultLimits } from '../../skill/caps.ts';
import { bareCommand } from './command.ts';
import { type Diagnosis, diagnose, readSetting } from './diagnose.ts';
import { type Ground, withJob } from './ground.ts';
import { type Launched, launch } from './launch.ts';
import { missingLayers } from './probe-layers.ts';
import { processTree } from './process-tree.ts';
import { runTool } from './run.ts';
import { makeFile } from './tree.ts';
import type { Backend, ToolRun } from './types.ts';
import { startWarm } from './warm.ts';
import type { WarmPool } from './warm-pool.ts';

const patienceMs = 10_000;
const maxAnswer = 4096;

// Tries what no tool may do, with none of Node's own layers in its way, says how it went, and waits to be
// looked at until its input ends.
const canary = `
const fs = require('node:fs');
const net = require('node:net');
process.stdin.once('data', (data) => {
  const { file, name, port } = JSON.parse(data);
  let read = false;
  try { fs.readFileSync(file); read = true; } catch {}
  // Only what is mounted read-only says EROFS: a refusal by owner and mode would be another layer's.
  const written = ['/', '/in/', '/rt/', '/lib/'].some((folder) => {
    try { fs.writeFileSync(folder + 'written', ''); return true; } catch ({ code }) { return code !== 'EROFS'; }
  });
  const answer = (reached) =>
    process.stdout.write(JSON.stringify({ read, written, seen: name in process.env, reached }) + '\\n');
  net.connect(port, '127.0.0.1').on('connect', () => answer(true)).on('error', () => answer(false));
});`;

// Repeats its input, and says whether Node's own layers are there: the two flags and the preload.
const echo = `
let text = '';
process.stdin.on('data', (data) => { text += data; }).on('end', () => {
  let evaluates = true;
  try { eval('1'); } catch { evaluates = false; }
  const inner = !evaluates && process.permission?.has('fs.write') === false && process.report === undefined;
  process.stdout.write(JSON.stringify({ ...JSON.parse(text), inner }));
});`;

/**
 * Shows that a sandbox holds before anything is trusted to it.
 *
 * @throws `link_unavailable` with the reason and what mends it
 */
export async function probe(ground: Ground, backend: Backend): Promise<void> {
  const secret = join(ground.base.path, `secret-${randomHex(8)}`);
  makeFile(secret, randomBytes(16));
  const listener = createServer((socket) => socket.destroy()).unref();
  try {
    const port = await listen(listener);
    const name = `OPENVIBE_CANARY_${randomHex(8)}`;
    const inside = bareCommand(defaultLimits, 'canary.js');
    await withJob(ground, toolRun('canary.js', canary), inside, async (command) => {
      const launched = await launch(command, { [name]: '1' });
      try {
        launched.stdin.write(JSON.stringify({ file: secret, name, port }));
        judge(await firstLine(launched), launched.pid, backend);
      } finally {
        launched.kill();
        await launched.exit;
      }
    });
  } finally {
    listener.close();
    await rm(secret, { force: true });
  }
  await answersWithAllLayers(ground);
}

const unwatched = 'the processes inside cannot be watched (is /proc mounted with hidepid?)';

function judge(answer: string, keeper: number, backend: Backend): void {
  let said: Record<string, unknown>;
  try {
    said = JSON.parse(answer) as typeof said;
  } catch (cause) {
    throw unavailable({ ...diagnose('', readSetting), reason: 'The canary answered nonsense.' }, cause);
  }
  const breaches = ['read', 'written', 'seen', 'reached'].filter((name) => said[name] !== false);
  if (breaches.length > 0) throw leaks(`a canary inside got out of it (${breaches.join(', ')})`);
  requireLayers(keeper, backend);
}

function requireLayers(keeper: number, backend: Backend): void {
  const tool = processTree(keeper).at(-1);
  if (tool === undefined || tool.pid === keeper || tool.memBytes === 0) throw leaks(unwatched);
  const missing = missingLayers(tool.pid, backend);
  if (missing.length > 0) throw leaks(`it lacks ${missing.join(', ')}`);
}

const anotherNode = 'Pass `node`, the path of another Node binary, such as one from nodejs.org.';

// Whether a tool answers; one that answers shows whether all layers are there.
async function repeats(ground: Ground, pool?: Pick<WarmPool, 'take' | 'release'>): Promise<boolean> {
  const nonce = randomHex(16);
  const end = await runTool(ground, { ...toolRun('echo.js', echo), input: { nonce } }, pool);
  const value = end.kind === 'exited' ? (end.value as { nonce?: unknown; inner?: unknown } | null) : null;
  if (value?.nonce !== nonce) return false;
  if (end.usage.memPeakBytes === null) throw leaks(unwatched);
  if (value.inner !== true) {
    const reason = "The sandbox does not hold: it lacks Node's own layers.";
    throw unavailable({ reason, remedy: anotherNode });
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
 * Looks at a sandbox that is started ahead as {@link probe} does at others; `false` where there is none that
 * answers, so that each is built when there is a job.
 *
 * @throws `link_unavailable` where it lacks a layer
 */
export async function holdsWarm(ground: Ground, backend: Backend): Promise<boolean> {
  const warm = await startWarm(ground);
  if (warm === undefined) return false;
  try {
    requireLayers(warm.launched.pid, backend);
    return await repeats(ground, { take: async () => warm, release: () => undefined });
  } finally {
    await warm.discard();
  }
}

function toolRun(entry: string, code: string): ToolRun {
  const files = [{ path: entry, bytes: Buffer.from(code) }];
  return { files, entry, input: {}, limits: defaultLimits, net: 'deny' };
}

// The first line of stdout. Without one in time: what the keeper complained about, as an error.
function firstLine({ stdout, stderr, exit }: Launched): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    let complaint = '';
    const give = (): void => reject(unavailable(diagnose(complaint, readSetting), complaint));
    const timer = setTimeout(give, patienceMs);
    stdout.on('data', (chunk: Buffer) => {
      text = (text + chunk).slice(0, maxAnswer);
      const end = text.indexOf('\n');
      if (end === -1) return;
      clearTimeout(timer);
      resolve(text.slice(0, end));
    });
    stderr.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk).slice(0, maxAnswer);
    });
    void exit.then(() => {
      clearTimeout(timer);
      give();
    });
  });
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      resolve((server.address() as { port: number }).port);
    });
  });
}

function leaks(how: string): SkillRunError {
  return unavailable({
    reason: `The sandbox does not hold: ${how}.`,
    remedy: 'Install bubblewrap 0.8 or newer. Run: sudo apt-get install bubblewrap',
  });
}

function unavailable({ reason, remedy }: Diagnosis, cause?: unknown): SkillRunError {
  return new SkillRunError('link_unavailable', `${reason} ${remedy}`, { cause });
}
