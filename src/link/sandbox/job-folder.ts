import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Limits, maxJsonBytes, maxLimits, type Net } from '../../skill/caps.ts';
import { makeFolder, makeTree } from './tree.ts';
import type { ToolRun } from './types.ts';

/** The folder of one run on the host. */
export interface JobFolder {
  readonly path: string;
  /** The tool's own tree; `/in` inside. */
  readonly inputs: string;
  remove(): Promise<void>;
}

// actor.skill@2 `resources[].path`, with any ending: lower-case ASCII, so that neither case nor Unicode makes
// twins, and no dot but the ending's, so that no segment is `..` and no folder has a file's name.
const pathShape = /^[a-z0-9][a-z0-9_-]{0,59}(?:\/[a-z0-9][a-z0-9_-]{0,59}){0,3}\.[a-z0-9]{1,8}$/;
const maxFiles = 32;
const maxFileBytes = 65_536;

/** Why a run is refused before anything of it touches the disk; `undefined` when it is not. */
export function findRefusal(run: ToolRun, nets: readonly Net[]): string | undefined {
  if (!nets.includes(run.net)) return `This sandbox holds tools to these nets only: ${nets.join(', ')}.`;
  if (!areLimits(run.limits)) {
    return `The limits must be whole numbers from 1 to ${maxLimits.wall_ms} ms and ${maxLimits.mem_bytes} bytes.`;
  }
  if (run.files.length > maxFiles) return `A tool has at most ${maxFiles} files.`;
  const paths = new Set<string>();
  for (const { path, bytes } of run.files) {
    if (!pathShape.test(path)) return 'A file has a path that actor.skill@2 does not allow.';
    if (paths.has(path)) return 'Two files have one path.';
    if (bytes.byteLength > maxFileBytes) return `A file has more than ${maxFileBytes} bytes.`;
    // Whatever the name says: bwrap cannot forbid that a library of machine code is loaded from the folder.
    if (isCode(path) && (!isUtf8(bytes) || bytes.includes(0))) return 'A .js file is not UTF-8 text.';
    paths.add(path);
  }
  if (!isCode(run.entry) || !paths.has(run.entry)) return "The entry is not one of the tool's .js files.";
  if (Buffer.byteLength(JSON.stringify(run.input)) > maxJsonBytes) {
    return `The input has more than ${maxJsonBytes} bytes of JSON.`;
  }
  return undefined;
}

/** Makes a fresh folder with the code of a run that {@link findRefusal} passed, or with none yet. */
export async function makeJobFolder(base: string, run: Pick<ToolRun, 'files'>): Promise<JobFolder> {
  const path = join(base, `job-${randomBytes(12).toString('hex')}`);
  const job: JobFolder = {
    path,
    inputs: join(path, 'in'),
    remove: () => rm(path, { recursive: true, force: true }),
  };
  try {
    await makeFolder(path);
    await makeFolder(job.inputs);
    await layCode(job, run);
    return job;
  } catch (error) {
    await job.remove();
    throw error;
  }
}

/** Lays the code of a run that {@link findRefusal} passed into a folder that has none. */
export async function layCode({ inputs }: JobFolder, { files }: Pick<ToolRun, 'files'>): Promise<void> {
  // `require` runs a file of any other ending as code too: only what was scanned as code is there.
  await makeTree(
    inputs,
    files.filter(({ path }) => isCode(path)),
  );
}

function isCode(path: string): boolean {
  return path.endsWith('.js');
}

function areLimits({ wall_ms, mem_bytes }: Limits): boolean {
  const within = (value: number, most: number): boolean =>
    Number.isInteger(value) && value >= 1 && value <= most;
  return within(wall_ms, maxLimits.wall_ms) && within(mem_bytes, maxLimits.mem_bytes);
}
