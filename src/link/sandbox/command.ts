import { basename } from 'node:path';
import type { Limits } from '../../skill/caps.ts';
import type { BaseFolder } from './base-folder.ts';
import type { JobFolder } from './job-folder.ts';
import { heapFlags, networkFlags, permissionFlags, v8Flags } from './limits.ts';
import type { NodeBinary } from './node-binary.ts';
import { fitsImage, imagePath } from './start-image.ts';
import type { ToolRun } from './types.ts';

/** What a backend makes a process from. */
export interface Job {
  readonly node: NodeBinary;
  readonly base: BaseFolder;
  readonly folder: JobFolder;
  readonly limits: Limits;
  /** The host's path of the unix socket that leads out, for a job that has a network. */
  readonly egress?: string;
  /** What runs inside: `/bin/node` and its arguments. */
  readonly inside: readonly string[];
}

/** A process of the host that builds the sandbox around a tool and becomes its keeper. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  /** A file that the process finds open as descriptor 3. */
  readonly descriptor?: string;
}

/** A thing of the host that is seen, read-only, inside. */
export interface Bind {
  readonly from: string;
  readonly at: string;
  /** A file that may be executed, or a folder in which nothing may. */
  readonly kind: 'program' | 'folder';
}

/** Where the libraries lie inside; the loader is told by `LD_LIBRARY_PATH`. */
export const libraryFolder = '/lib';

/** All that a tool can see but its own code: no /proc, /dev, /etc, /usr, /tmp. */
export function fixedBinds(node: NodeBinary, base: BaseFolder): Bind[] {
  const library = (from: string): Bind => {
    const name = basename(from);
    // The loader's own path is written into the binary; everything else is found by name.
    return { from, at: /^ld[-6]/.test(name) ? from : `${libraryFolder}/${name}`, kind: 'program' };
  };
  return [
    { from: node.path, at: '/bin/node', kind: 'program' },
    ...node.libraries.map(library),
    { from: base.runtime, at: '/rt', kind: 'folder' },
  ];
}

/** Where a tool's own code is seen. */
export function inputBind(from: string): Bind {
  return { from, at: '/in', kind: 'folder' };
}

/** The Node that is inside. */
interface Inner {
  readonly node: NodeBinary;
  /** Whether there is a start image. */
  readonly image: boolean;
}

/** The command line of a tool inside: Node with its inner layer and the preload. */
export function toolCommand(inner: Inner, run: Pick<ToolRun, 'limits' | 'net' | 'entry'>): string[] {
  return [...innerCommand(inner, run), `/in/${run.entry}`];
}

/** The same for a sandbox that is started ahead, and is told its entry when there is a job. */
export function warmCommand(inner: Inner, kind: Pick<ToolRun, 'limits' | 'net'>): string[] {
  return [...innerCommand(inner, kind), '--require=/rt/warm.cjs', '/in'];
}

function innerCommand({ node, image }: Inner, { limits, net }: Pick<ToolRun, 'limits' | 'net'>): string[] {
  const start = image && fitsImage(node, limits) ? [`--snapshot-blob=${imagePath}`] : [];
  const flags = [...v8Flags(node, limits), ...start, ...permissionFlags(node)];
  if (net === 'deny') return ['/bin/node', ...flags, '--require=/rt/preload.cjs'];
  return ['/bin/node', ...flags, ...networkFlags(node), '--require=/rt/network.cjs'];
}

/** The same with Node's own layers left out, so that only the operating system holds: for the probe. */
export function bareCommand(limits: Limits, entry: string): string[] {
  return ['/bin/node', ...heapFlags(limits), `/in/${entry}`];
}
