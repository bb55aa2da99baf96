import { execFile } from 'node:child_process';
import { release } from 'node:os';
import { isSkillRunError } from '../errors.ts';
import type { Net } from '../skill/caps.ts';
import { bwrapPrograms } from './sandbox/bwrap.ts';
import { findProgram } from './sandbox/host.ts';
import { inspectNode } from './sandbox/node-binary.ts';
import { openSandbox } from './sandbox/open.ts';
import { requireSandboxOptions } from './sandbox/options.ts';
import type { Backend, Sandbox } from './sandbox/types.ts';
import { utilLinuxPrograms } from './sandbox/util-linux.ts';

/** What is examined: what a Link would be made with. */
export interface DoctorOptions {
  /** Default: `bwrap` where it works, else `util-linux`. */
  backend?: Backend;
  /** Path of the Node that would run tools. Default: the running one. */
  node?: string;
}

/** One way to build a sandbox, and whether it holds here. */
export interface BackendReport {
  readonly backend: Backend;
  /** Whether all its programs are on PATH. */
  readonly found: boolean;
  /** Such as `0.8.0`; `null` where it cannot be asked. */
  readonly version: string | null;
  /** Whether it was built and its probe passed. */
  readonly works: boolean;
  readonly seccomp: Sandbox['seccomp'];
  /** The networks it can hold a tool to; none where it does not work. */
  readonly nets: readonly Net[];
  /** Why it does not work, and the one command that mends it. */
  readonly problem: string | null;
  /** Why it works for `deny` alone, and what mends that; `null` where it holds tools with a network too. */
  readonly withheld: string | null;
}

/** One layer between a tool and the machine. */
export interface LayerReport {
  readonly name: string;
  readonly state: 'on' | 'absent';
  /** Whether no tool without network runs where it is absent. */
  readonly required: boolean;
}

/** What a machine can hold. */
export interface DoctorReport {
  /** Whether skills can run. */
  readonly ok: boolean;
  /** The backend that would run them. */
  readonly backend: Backend | null;
  readonly nets: readonly Net[];
  /** Such as `linux x64`. */
  readonly platform: string;
  readonly kernel: string;
  /** The Node that would run tools; its version, such as `20.19`, is `null` where it is no use. */
  readonly node: { readonly path: string; readonly version: string | null };
  readonly backends: readonly BackendReport[];
  readonly layers: readonly LayerReport[];
}

/**
 * Looks at what this machine can hold: it opens a sandbox of each backend, has it probed, and closes it.
 *
 * @throws `option_invalid`
 */
export async function doctor(options: DoctorOptions = {}): Promise<DoctorReport> {
  requireSandboxOptions(options);
  const path = options.node ?? process.execPath;
  const backends = await Promise.all([examine('bwrap', path), examine('util-linux', path)]);
  const chosen = backends.find(
    ({ backend, works }) => works && (options.backend === undefined || options.backend === backend),
  );
  return {
    ok: chosen !== undefined,
    backend: chosen?.backend ?? null,
    nets: chosen?.nets ?? [],
    platform: `${process.platform} ${process.arch}`,
    kernel: release(),
    node: { path, version: await nodeVersion(path) },
    backends,
    layers: layersOf(chosen),
  };
}

// What each backend is made of, and which of it tells the version.
const programs: Record<Backend, readonly string[]> = {
  bwrap: bwrapPrograms,
  'util-linux': utilLinuxPrograms,
};
const teller: Record<Backend, string> = { bwrap: 'bwrap', 'util-linux': 'unshare' };

async function examine(backend: Backend, node: string): Promise<BackendReport> {
  const program = findProgram(teller[backend]);
  const about = {
    backend,
    found: programs[backend].every((name) => findProgram(name) !== undefined),
    version: program === undefined ? null : await askVersion(program),
  };
  try {
    const { nets, seccomp, withheld, close } = await openSandbox({ backend, node });
    await close();
    return { ...about, works: true, seccomp, nets, problem: null, withheld: withheld ?? null };
  } catch (error) {
    if (!isSkillRunError(error)) throw error;
    const { message: problem } = error;
    return { ...about, works: false, seccomp: 'absent', nets: [], problem, withheld: null };
  }
}

// The layers that stand or fall together: the probe passes only where all of them are.
const required = [
  'code pinned by its hash, read-only, no other file written',
  'an ordinary user',
  'namespaces of its own: user, mount, pid, ipc, net, uts',
  'a root of its own, read-only, that holds Node and the code only',
  'no new privileges, no capabilities',
  'limits on memory, processor time, files and time',
  'an empty environment',
  'an output of one JSON value',
  "Node's permission model and the preload",
];

function layersOf(chosen: BackendReport | undefined): LayerReport[] {
  const on = (holds: boolean): LayerReport['state'] => (holds ? 'on' : 'absent');
  const network = chosen?.nets.some((net) => net !== 'deny') ?? false;
  return [
    ...required.map((name) => ({ name, state: on(chosen !== undefined), required: true })),
    { name: 'a filter of system calls (seccomp)', state: on(chosen?.seccomp === 'on'), required: false },
    { name: 'a network through one checked proxy', state: on(network), required: false },
  ];
}

async function nodeVersion(path: string): Promise<string | null> {
  try {
    const { major, minor } = await inspectNode(path);
    return `${major}.${minor}`;
  } catch {
    return null;
  }
}

function askVersion(program: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, ['--version'], { timeout: 5000, env: {} }, (_error, stdout) => {
      resolve(/\d+(?:\.\d+)+/.exec(stdout)?.[0] ?? null);
    });
  });
}
