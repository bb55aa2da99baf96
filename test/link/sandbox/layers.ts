import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import type { Command } from '../../../src/link/sandbox/command.ts';
import type { Backend } from '../../../src/link/sandbox/types.ts';

/** One layer of the sandbox that stands in a command line, and what is left without it. */
export interface Layer {
  readonly name: string;
  off(command: Command): Command;
  /** What the probe says without it; or, where it cannot see it, why not. */
  readonly noticed: RegExp | { readonly no: string };
  /** Hostile programs, by id, that the other layers hold. */
  readonly held: readonly string[];
  /** Programs that get out without it, on this backend: the layer stands alone there. */
  readonly lost?: readonly string[];
}

const files = ['passwd', 'write-tmp', 'write-in', 'other-job', 'id-modes'];
const net = ['net-tcp', 'net-udp', 'net-abstract-socket', 'net-http', 'node-loopbacks'];
const processes = ['kill-low-pids', 'sig-keeper', 'debug-process', 'stay-child', 'wall-timer'];
const users = ['id-user', 'renice', 'id-modes', 'shadow'];
const host = ['env', 'env-report', 'hostname', 'view-process', 'view-names'];
const inner = ['eval', 'spawn', 'worker', 'node-bindings', 'wasi'];

// From 25 on Node's own permission model knows the network too.
const netless = Number.parseInt(process.versions.node, 10) >= 25;

const edit =
  (change: (args: readonly string[]) => readonly string[]) =>
  (command: Command): Command => ({ ...command, args: change(command.args) });
const without = (...words: string[]) => edit((args) => args.filter((word) => !words.includes(word)));
/** Puts other words in the place of `count` words from the first, or last, `word` on. */
const instead = (word: string, count: number, words: string[] = [], at: 'first' | 'last' = 'first') =>
  edit((args) =>
    args.toSpliced(at === 'first' ? args.indexOf(word) : args.lastIndexOf(word), count, ...words),
  );
const limitTo = (name: string, value?: string) =>
  edit((args) =>
    args.flatMap((word) => {
      if (!word.startsWith(`--${name}=`)) return [word];
      return value === undefined ? [] : [`--${name}=${value}`];
    }),
  );
/** Takes flags of the tool's Node away. */
const nodeWithout = (flags: RegExp) =>
  edit((args) =>
    args.filter(
      // A start image is of use under its own flags alone.
      (word, at) => at < args.lastIndexOf('/bin/node') || !(flags.test(word) || /^--snapshot/.test(word)),
    ),
  );
/** Binds a folder of the host into bwrap's root. */
const bindHost = (how: string) =>
  edit((args) => {
    const inputs = args[args.indexOf('/in') - 1] ?? '';
    return args.toSpliced(args.indexOf('--remount-ro'), 0, how, '/tmp', '/tmp', how, inputs, '/in');
  });

/** Mounts util-linux's binds so that they can be written to. */
const bindWritable = edit((args) =>
  args.map((word) => {
    if (!word.endsWith('/fstab')) return word;
    const table = `${word}-writable`;
    writeFileSync(table, readFileSync(word, 'latin1').replaceAll('bind,ro,', 'bind,'), 'latin1');
    chmodSync(table, 0o444);
    return table;
  }),
);
/** Runs util-linux's tool, the same Node and code, in the root of the host. */
const inHostRoot = edit((args) => {
  const root = args.find((word) => word.startsWith('--root='))?.slice(7) ?? '';
  const at = args.lastIndexOf('--user');
  const outside = (word: string): string => word.replace(/(^|=)(?=\/(bin|in|rt)(\/|$))/, `$1${root}`);
  return [
    ...args.slice(0, at),
    ...args
      .slice(at)
      .filter((word) => word !== `--root=${root}`)
      .map(outside),
  ];
});

const everywhere: readonly Layer[] = [
  {
    name: 'the limit on data',
    off: limitTo('data'),
    noticed: /limit on data/,
    held: ['mem-catch', 'mem-ab', 'mem-sab', 'heap-strings'],
  },
  {
    name: 'the limit on processor time',
    off: limitTo('cpu'),
    noticed: /processor time/,
    held: ['wall-spin', 'thread-pool'],
  },
  {
    name: 'the limit on open files',
    off: limitTo('nofile', '63'),
    noticed: /open files/,
    held: ['fd-exhaust', 'fd-swap'],
  },
  {
    name: 'the limit on written files',
    off: limitTo('fsize', '1000000'),
    noticed: /written files/,
    held: files,
  },
  {
    name: 'the limit on core files',
    // 0 would not keep a crash from a program that cores are piped to.
    off: limitTo('core', '0'),
    noticed: /core files/,
    held: ['exit-abort', 'exit-selfkill'],
  },
  {
    name: "Node's permission model",
    off: nodeWithout(/^--(experimental-)?permission$|^--allow-/),
    noticed: /Node's own layers/,
    held: [...files, ...inner],
  },
  {
    name: "Node's refusal to evaluate",
    off: nodeWithout(/^--disallow-code/),
    noticed: /Node's own layers/,
    held: inner,
  },
  {
    name: 'the preload',
    off: nodeWithout(/^--require=/),
    noticed: /Node's own layers/,
    held: [...inner, ...processes, 'vm', 'net-metadata'],
  },
];

const bwrap: readonly Layer[] = [
  ...everywhere,
  {
    // Nothing is built then, as the refusal of further ones asks for it.
    name: 'the user namespace',
    off: without('--unshare-user'),
    noticed: /started nothing/,
    held: users,
  },
  { name: 'the network namespace', off: without('--unshare-net'), noticed: /net namespace/, held: net },
  {
    name: 'the pid namespace',
    off: without('--unshare-pid'),
    noticed: /pid namespace|watched/,
    held: processes,
  },
  {
    name: 'the ipc namespace',
    off: without('--unshare-ipc'),
    noticed: /ipc namespace/,
    held: ['meet-channel', 'meet-file'],
  },
  {
    name: 'the uts namespace',
    off: without('--unshare-uts', '--hostname', 'sandbox'),
    noticed: /uts namespace/,
    held: ['env', 'view-process'],
    lost: ['hostname'],
  },
  {
    name: 'the seccomp filter',
    off: instead('--seccomp', 2),
    noticed: /seccomp/,
    held: [...net, 'stay-child', 'meet-abstract'],
  },
  {
    name: 'the capabilities dropped',
    off: instead('--cap-drop', 2, ['--cap-add', 'ALL']),
    noticed: /capabilities/,
    held: [...users, ...files],
  },
  { name: 'the root read-only', off: instead('--remount-ro', 2), noticed: /written/, held: files },
  {
    name: 'the binds read-only',
    off: edit((args) => args.map((word) => (word === '--ro-bind' ? '--bind' : word))),
    noticed: /written/,
    held: [...files, 'start-preload-again'],
  },
  {
    name: "the host's files hidden, read-only",
    off: bindHost('--ro-bind'),
    noticed: /read/,
    held: ['write-tmp', 'write-in', 'other-job'],
  },
  {
    name: "the host's files hidden",
    off: bindHost('--bind'),
    noticed: /written|read/,
    held: ['write-in', 'other-job'],
  },
  { name: 'the environment cleared', off: without('--clearenv'), noticed: /seen/, held: host },
  {
    name: 'further user namespaces refused',
    off: without('--disable-userns'),
    noticed: { no: 'JavaScript has no call that makes one, and seccomp refuses the calls that do' },
    held: users,
  },
  {
    name: 'the cgroup namespace',
    off: without('--unshare-cgroup-try'),
    noticed: {
      no: 'it hides names only, and there is no /proc or /sys to read them in; a kernel may lack it',
    },
    held: ['view-cgroup'],
  },
  {
    name: 'the session',
    off: without('--new-session'),
    noticed: { no: 'the keeper is started in a session of its own already' },
    held: ['fd-reopen', 'sig-group'],
  },
  {
    name: 'death with the keeper',
    off: without('--die-with-parent'),
    noticed: /outlives its keeper/,
    held: processes,
  },
];

const utilLinux: readonly Layer[] = [
  ...everywhere,
  {
    // Nothing is built then: the kernel lets nobody but root make any other without it.
    name: 'the user namespace',
    off: instead('--user', 2),
    noticed: /refused to make the namespaces/,
    held: users,
  },
  {
    // Nothing is built then: the host's mounts are not ours. What mount says of them is not for the tool's person.
    name: 'the mount namespace',
    off: edit((args) =>
      args.filter((word) => word !== '--mount').map((word) => word.replace('--fstab "$2"', '$& 2>&-')),
    ),
    noticed: /started nothing/,
    held: files,
  },
  {
    name: 'the pid namespace',
    off: without('--pid'),
    noticed: /pid namespace/,
    held: processes,
  },
  {
    name: 'the uts namespace',
    off: edit((args) =>
      args.filter((word) => word !== '--uts').map((word) => word.replace(' && "$3" sandbox', '')),
    ),
    noticed: /uts namespace/,
    held: ['env', 'view-process'],
    lost: ['hostname'],
  },
  {
    name: 'the root of its own',
    off: inHostRoot,
    noticed: /read, written/,
    held: [...files, 'start-preload-again'],
    // Where it lies on the host, by its own flags.
    lost: ['view-process'],
  },
  {
    name: 'the binds read-only',
    off: bindWritable,
    noticed: /written/,
    held: [...files, 'start-preload-again'],
  },
  {
    name: 'the network namespace',
    off: without('--net'),
    noticed: /reached|net namespace/,
    held: ['net-metadata', 'net-websocket'],
    lost: netless ? [] : ['net-tcp', 'net-abstract-socket', 'net-dns-exfil'],
  },
  {
    name: 'the ipc namespace',
    off: without('--ipc'),
    noticed: /ipc namespace/,
    held: ['meet-channel', 'meet-file'],
  },
  {
    name: 'the second user namespace',
    off: instead('--user', 3, [], 'last'),
    noticed: /capabilities/,
    held: [...users, ...files],
  },
  {
    name: 'no new privileges',
    off: without('--no-new-privs'),
    noticed: /privileges/,
    held: [...users, 'stay-child'],
  },
  {
    name: 'the limit on processes',
    off: limitTo('nproc'),
    noticed: /limit on processes/,
    held: ['forkbomb', 'worker', 'thread-pool'],
  },
  { name: 'the environment cleared', off: without('-i'), noticed: /seen/, held: host },
  {
    name: 'further user namespaces refused',
    off: edit((args) => args.map((word) => word.replace(/ && echo 1 >\S+/, ''))),
    noticed: { no: 'JavaScript has no call that makes one' },
    held: users,
  },
  {
    name: 'the cgroup namespace',
    off: without('--cgroup'),
    noticed: { no: 'it hides names only, and there is no /proc or /sys to read them in' },
    held: ['view-cgroup'],
  },
  {
    name: 'death with the keeper',
    off: without('--kill-child=KILL'),
    noticed: /outlives its keeper/,
    held: processes,
  },
  {
    name: "the keeper's death with the host",
    off: edit((args) => args.toSpliced(args.indexOf('--pdeathsig'), 2)),
    noticed: { no: 'the probe would have to die for it; host.test.ts kills hosts' },
    held: processes,
  },
];

/** Takes a layer from the tools alone that have a network. */
const networked =
  (off: Layer['off']): Layer['off'] =>
  (command) =>
    command.args.includes('/egress') ? off(command) : command;

/** The layers of bwrap that a tool with a network leans on in another way than one without. */
export const networkLayers: readonly Layer[] = [
  {
    name: 'the network filter',
    off: networked(instead('--seccomp', 2)),
    noticed: /tcp, udp, netlink/,
    held: ['way-tcp', 'way-udp', 'way-dns', 'way-tcp-listen', 'way-abstract', 'way-unix-paths'],
  },
  {
    // Its filter lets unix sockets by, and those of a name without a path are the network namespace's.
    name: 'the network namespace',
    off: networked(without('--unshare-net')),
    noticed: /abstract/,
    held: ['way-tcp', 'way-udp', 'way-dns', 'way-unix-paths'],
    lost: ['way-abstract'],
  },
  {
    name: "the host's files hidden",
    off: networked(bindHost('--ro-bind')),
    noticed: /path/,
    held: ['way-replace', 'way-tcp', 'way-meet-proxy'],
  },
  {
    name: 'the preload',
    off: networked(nodeWithout(/^--require=/)),
    noticed: /inner, .*page/,
    held: ['way-undo', 'way-descriptors', 'way-redirect'],
  },
];

/** The layers of each backend that stand in its command line. */
export const layers: Readonly<Record<Backend, readonly Layer[]>> = { bwrap, 'util-linux': utilLinux };
