import { readlinkSync } from 'node:fs';
import { chmod, lstat, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { isSkillRunError, SkillRunError } from '../../errors.ts';
import { startTime } from './process-tree.ts';
import { type Architecture, seccompProgram } from './seccomp.ts';
import { makeFile, makeFolder } from './tree.ts';

/** The folder of one sandbox on the host; every file of it is gone when the sandbox is closed. */
export interface BaseFolder {
  readonly path: string;
  /** Holds the preloads; `/rt` inside. */
  readonly runtime: string;
  /** The seccomp program of a tool without network. */
  readonly filter: string;
  /** The seccomp program of a tool with one. */
  readonly networkFilter: string;
  /** A tree of empty mount points; `/` inside, where a backend needs one on disk. */
  readonly root: string;
  remove(): Promise<void>;
}

const preloads = ['preload.cjs', 'network.cjs', 'warm.cjs'] as const;

/**
 * Makes a sandbox's own folder, after removing those whose process was killed before it could.
 *
 * @param parent default the system's temporary folder
 * @throws `option_invalid` where `parent` cannot be written, or others could exchange what lies in it
 */
export async function createBaseFolder(
  architecture: Architecture,
  parent: string = tmpdir(),
): Promise<BaseFolder> {
  let path: string | undefined;
  try {
    const place = await realpath(parent);
    await requirePrivate(place);
    await sweep(place);
    path = await mkdtemp(join(place, `openvibe-sandbox-${owner(process.pid)}-`));
    return await furnish(path, architecture);
  } catch (cause) {
    if (path !== undefined) await remove(path);
    throw isSkillRunError(cause) ? cause : unusable('it cannot be read and written', cause);
  }
}

async function furnish(path: string, architecture: Architecture): Promise<BaseFolder> {
  const folder: BaseFolder = {
    path,
    runtime: join(path, 'rt'),
    filter: join(path, 'filter.bpf'),
    networkFilter: join(path, 'network-filter.bpf'),
    root: join(path, 'root'),
    remove: () => remove(path),
  };
  // Started by root, the sandbox's own user has to pass through; otherwise it is ours.
  if (process.getuid?.() === 0) await chmod(path, 0o711);
  await makeFolder(folder.runtime);
  for (const name of preloads) {
    await makeFile(join(folder.runtime, name), await readFile(new URL(`./${name}`, import.meta.url)));
  }
  await makeFile(folder.filter, seccompProgram(architecture, 'none'));
  await makeFile(folder.networkFilter, seccompProgram(architecture, 'unix'));
  await makeFolder(folder.root);
  return folder;
}

// With every folder above it: who can exchange one of them can exchange what lies in it.
async function requirePrivate(place: string): Promise<void> {
  const { mode, uid } = await lstat(place);
  const sticky = (mode & 0o1000) !== 0;
  const ours = uid === 0 || uid === process.getuid?.();
  if (!ours || ((mode & 0o022) !== 0 && !sticky)) {
    throw unusable('others can rename or remove what lies in it');
  }
  const above = dirname(place);
  if (above !== place) await requirePrivate(above);
}

// A process of another pid namespace cannot be seen from here, so its folders are left to its own kind.
async function sweep(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const [, space, pid, start] = /^openvibe-sandbox-(\d+)-(\d+)-(\d+)-/.exec(name) ?? [];
    if (space !== pidNamespace() || startTime(Number(pid)) === Number(start)) continue;
    const path = join(parent, name);
    const found = await lstat(path).catch(() => undefined);
    if (found?.uid === process.getuid?.()) await remove(path).catch(() => undefined);
  }
}

function owner(pid: number): string {
  return `${pidNamespace()}-${pid}-${startTime(pid)}`;
}

function remove(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true });
}

function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');
}

function unusable(reason: string, cause?: unknown): SkillRunError {
  return new SkillRunError(
    'option_invalid',
    `directory: the folder for the sandbox's files cannot be used: ${reason}. Pass a folder that only you can change.`,
    { cause },
  );
}
