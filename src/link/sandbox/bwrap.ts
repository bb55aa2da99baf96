import { type Command, fixedBinds, inputBind, type Job, libraryFolder } from './command.ts';
import { processLimits } from './limits.ts';

/** The programs of the host that the backend is made of. */
export const bwrapPrograms = ['prlimit', 'bwrap'] as const;

/** The sandbox as bubblewrap builds it, with seccomp. */
export function bwrapCommand(job: Job, find: (name: (typeof bwrapPrograms)[number]) => string): Command {
  const binds = [...fixedBinds(job.node, job.base), inputBind(job.folder.inputs)];
  return {
    file: find('prlimit'),
    args: [
      ...processLimits(job.node, job.limits),
      '--',
      find('bwrap'),
      '--unshare-user',
      '--unshare-ipc',
      '--unshare-pid',
      '--unshare-net',
      '--unshare-uts',
      '--unshare-cgroup-try',
      '--disable-userns',
      // Asked of the kernel only when all is built; before that the preload notices. Asking for it earlier from
      // outside would leave bwrap's first process waiting for ever for the one that was killed.
      '--die-with-parent',
      '--new-session',
      ...['--cap-drop', 'ALL'],
      '--clearenv',
      ...['--setenv', 'LD_LIBRARY_PATH', libraryFolder],
      ...['--hostname', 'sandbox'],
      ...['--uid', '65534'],
      ...['--gid', '65534'],
      ...binds.flatMap(({ from, at }) => ['--ro-bind', from, at]),
      ...(job.egress === undefined ? [] : ['--ro-bind', job.egress, '/egress']),
      ...['--remount-ro', '/'],
      ...['--chdir', '/in'],
      ...['--seccomp', '3'],
      '--',
      ...job.inside,
    ],
    descriptor: job.egress === undefined ? job.base.filter : job.base.networkFilter,
  };
}
