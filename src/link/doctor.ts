import { execFile } from 'node:child_process';
import { release } from 'node:os';
import { isSkillRunError } from '../errors.ts';
import type { Net } from '../skill/caps.ts';
import { bwrapPrograms } from './sandbox/bwrap.ts';
import { findProgram } from './sandbox/host.ts';
import { LackedLayers, type Layer, layers } from './sandbox/layer.ts';
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
  /** `unknown` where the machine did not come so far that it could be looked at. */
  readonly state: 'on' | 'absent' | 'unknown';
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
  /** Those of the backend that would run them; where none does, of the one that is wanted most and is installed. */
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
  const examined = await Promise.all([examine('bwrap', path), examine('util-linux', path)]);
  const backends = examined.map(({ report }) => report);
  const wanted = examined.filter(
    ({ report: { backend } }) => options.backend === undefined || options.backend === backend,
  );
  const running = wanted.find(({ report: { works } }) => works);
  const chosen = running?.report;
  return {
    ok: chosen !== undefined,
    backend: chosen?.backend ?? null,
    nets: chosen?.nets ?? [],
    platform: `${process.platform} ${process.arch}`,
    kernel: release(),
    node: { path, version: await nodeVersion(path) },
    backends,
    layers: layersOf(running ?? wanted.find(({ report: { found } }) => found)),
  };
}

// What each backend is made of, and which of it tells the version.
const programs: Record<Backend, readonly string[]> = {
  bwrap: bwrapPrograms,
  'util-linux': utilLinuxPrograms,
};
const teller: Record<Backend, string> = { bwrap: 'bwrap', 'util-linux': 'unshare' };

interface Examined {
  readonly report: BackendReport;
  /** What its probe saw of the layers, where it refused for one of them. */
  readonly lacked: LackedLayers | undefined;
}

async function examine(backend: Backend, node: string): Promise<Examined> {
  const program = findProgram(teller[backend]);
  const about = {
    backend,
    found: programs[backend].every((name) => findProgram(name) !== undefined),
    version: program === undefined ? null : await askVersion(program),
  };
  try {
    const { nets, seccomp, withheld, close } = await openSandbox({ backend, node });
    await close();
    const report = { ...about, works: true, seccomp, nets, problem: null, withheld: withheld ?? null };
    return { report, lacked: undefined };
  } catch (error) {
    if (!isSkillRunError(error)) throw error;
    const { message: problem, cause } = error;
    return {
      report: { ...about, works: false, seccomp: 'absent', nets: [], problem, withheld: null },
      lacked: cause instanceof LackedLayers ? cause : undefined,
    };
  }
}

function layersOf(told: Examined | undefined): LayerReport[] {
  const works = told?.report.works === true;
  const stateOf = (layer: Layer): LayerReport['state'] => {
    if (works) return layer === 'seccomp' ? told.report.seccomp : 'on';
    if (told?.lacked?.absent.includes(layer)) return 'absent';
    return told?.lacked?.on.includes(layer) ? 'on' : 'unknown';
  };
  const network = works ? (told.report.nets.some((net) => net !== 'deny') ? 'on' : 'absent') : 'unknown';
  return [
    ...(Object.keys(layers) as Layer[]).map((layer) => ({
      name: layers[layer],
      state: stateOf(layer),
      required: layer !== 'seccomp',
    })),
    { name: 'a network through one checked proxy', state: network, required: false },
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
