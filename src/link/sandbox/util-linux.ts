import { join } from 'node:path';
import type { BaseFolder } from './base-folder.ts';
import { type Bind, type Command, fixedBinds, inputBind, type Job, libraryFolder } from './command.ts';
import { processLimits } from './limits.ts';
import type { NodeBinary } from './node-binary.ts';
import { makeFile, makeTree } from './tree.ts';

/** The programs of the host that the backend is made of. */
export const utilLinuxPrograms = ['setpriv', 'unshare', 'sh', 'mount', 'hostname', 'env', 'prlimit'] as const;

// Runs as the first process of the new namespaces. Its words are arguments, never text of the script.
// The last limit keeps the one namespace that follows from being followed by another.
const script = `
"$1" --all --fstab "$2" && "$3" sandbox && echo 1 >/proc/sys/user/max_user_namespaces || exit 1
shift 3
exec "$@"`;

/** Makes the empty files and folders that every run of a sandbox mounts on. */
export async function makeMountPoints(node: NodeBinary, base: BaseFolder): Promise<void> {
  const points = [...fixedBinds(node, base), inputBind('')];
  await makeTree(
    base.root,
    points.map(({ at, kind }) => (kind === 'program' ? { path: at, bytes: new Uint8Array() } : { path: at })),
  );
}

/**
 * The sandbox as util-linux builds it, on a machine without bubblewrap. It has no seccomp filter.
 *
 * The first user namespace may mount; the second, made inside it, gives every capability away.
 */
export async function utilLinuxCommand(
  job: Job,
  find: (name: (typeof utilLinuxPrograms)[number]) => string,
): Promise<Command> {
  const root = job.base.root;
  const table = join(job.folder.path, 'fstab');
  const mounts = [...fixedBinds(job.node, job.base), inputBind(job.folder.inputs)];
  const own: Bind = { from: root, at: '', kind: 'folder' };
  await makeFile(table, Buffer.from([own, ...mounts].map((bind) => fstabLine(root, bind)).join('')));
  return {
    file: find('setpriv'),
    args: [
      '--no-new-privs',
      ...['--pdeathsig', 'KILL'],
      '--',
      find('unshare'),
      ...['--user', '--map-root-user', '--mount', '--pid', '--fork', '--ipc', '--net', '--uts', '--cgroup'],
      '--kill-child=KILL',
      '--',
      ...[find('sh'), '-c', script, 'sh', find('mount'), table, find('hostname')],
      ...[find('env'), '-i', `LD_LIBRARY_PATH=${libraryFolder}`],
      find('prlimit'),
      ...processLimits(job.node, job.limits),
      // Counted within the namespace: only the sandbox's own threads.
      '--nproc=64',
      '--',
      find('unshare'),
      ...['--user', '--map-user=65534', '--map-group=65534', `--root=${root}`, '--wd=/in'],
      '--',
      ...job.inside,
    ],
  };
}

// `noexec` also where it must stand: the kernel would not let us take the flag of a `noexec` /tmp away.
function fstabLine(root: string, { from, at, kind }: Bind): string {
  const options = `bind,ro,nosuid,nodev${kind === 'program' ? '' : ',noexec'}`;
  return `${quote(from)} ${quote(root + at)} none ${options} 0 0\n`;
}

// Blanks of ASCII alone: the octal form names one byte, and another blank would become the name of another folder.
function quote(path: string): string {
  return path.replace(
    /[\t-\r \\#]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
}
