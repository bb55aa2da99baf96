/** The processors whose system call numbers are known here. */
export type Architecture = 'x64' | 'arm64';

/** Whether a filter can be made for this processor. */
export function isArchitecture(value: string): value is Architecture {
  return value === 'x64' || value === 'arm64';
}

// Numbers of [x64, arm64], from the kernel's unistd headers; null where a processor has no such call.
type Numbers = readonly [number | null, number | null];

const noProcess: readonly Numbers[] = [
  [57, null], // fork
  [58, null], // vfork
];
const absent: readonly Numbers[] = [
  [435, 435], // clone3: its flags lie in memory, which a filter cannot read; libc falls back to clone
  [425, 425], // io_uring_setup
  [426, 426], // io_uring_enter
  [427, 427], // io_uring_register
];
const noSocketPair: readonly Numbers[] = [
  [53, 199], // socketpair
];
const forbidden: readonly Numbers[] = [
  [101, 117], // ptrace
  [310, 270], // process_vm_readv
  [311, 271], // process_vm_writev
  [440, 440], // process_madvise
  [312, 272], // kcmp
  [434, 434], // pidfd_open
  [424, 424], // pidfd_send_signal
  [438, 438], // pidfd_getfd
  [321, 280], // bpf
  [298, 241], // perf_event_open
  [323, 282], // userfaultfd
  [248, 217], // add_key
  [249, 218], // request_key
  [250, 219], // keyctl
  [165, 40], // mount
  [166, 39], // umount2
  [155, 41], // pivot_root
  [429, 429], // move_mount
  [428, 428], // open_tree
  [430, 430], // fsopen
  [431, 431], // fsconfig
  [432, 432], // fsmount
  [433, 433], // fspick
  [442, 442], // mount_setattr
  [161, 51], // chroot
  [308, 268], // setns
  [272, 97], // unshare
  [303, 264], // name_to_handle_at
  [304, 265], // open_by_handle_at
  [175, 105], // init_module
  [313, 273], // finit_module
  [176, 106], // delete_module
  [246, 104], // kexec_load
  [320, 294], // kexec_file_load
  [169, 142], // reboot
  [135, 92], // personality
  [319, 279], // memfd_create
  [447, 447], // memfd_secret
  [29, 194], // shmget
  [30, 196], // shmat
  [31, 195], // shmctl
  [67, 197], // shmdt
  [64, 190], // semget
  [65, 193], // semop
  [66, 191], // semctl
  [220, 192], // semtimedop
  [68, 186], // msgget
  [69, 189], // msgsnd
  [70, 188], // msgrcv
  [71, 187], // msgctl
  [240, 180], // mq_open
  [241, 181], // mq_unlink
  [242, 182], // mq_timedsend
  [243, 183], // mq_timedreceive
  [244, 184], // mq_notify
  [245, 185], // mq_getsetattr
  [103, 116], // syslog
  [300, 262], // fanotify_init
  [154, null], // modify_ldt
  [73, 32], // flock: on a file that two sandboxes see it is a way from one to the other
  [451, 451], // cachestat: tells what others read of such a file
  [27, 232], // mincore: as well
  [206, 0], // io_setup: takes of what all processes of the machine share
  [172, null], // iopl
  [173, null], // ioperm
];
const socket: Numbers = [41, 198]; // AF_VSOCK's too, which no network namespace covers
const unixFamily = 1;
const clone: Numbers = [56, 220];
const fcntl: Numbers = [72, 25];
// Locks of a process and of an open file, and leases: as flock.
const lockCommands: readonly number[] = [5, 6, 7, 36, 37, 38, 1024, 1025];
const cloneThread = 0x0001_0000;
const auditArch: Record<Architecture, number> = { x64: 0xc000_003e, arm64: 0xc000_00b7 };

const allow = 0x7fff_0000;
const kill = 0x8000_0000;
const errno = (code: number): number => 0x0005_0000 | code;
const EPERM = 1;
const EACCES = 13;
const ENOSYS = 38;

// Instruction codes of classic BPF, and the offsets in struct seccomp_data.
const loadWord = 0x20;
const jumpEqual = 0x15;
const jumpAtLeast = 0x35;
const jumpAnyBit = 0x45;
const answer = 0x06;
const callNumber = 0;
const callArchitecture = 4;
const firstArgument = 16;
const secondArgument = 24;

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number];

/**
 * The filter program of a tool: an array of `struct sock_filter` (8 bytes each, little-endian), as
 * `bwrap --seccomp` reads it.
 *
 * @param sockets which a tool may make: none, or, where it has a network, unix ones alone
 */
export function seccompProgram(architecture: Architecture, sockets: 'none' | 'unix'): Uint8Array {
  const column = architecture === 'x64' ? 0 : 1;
  const refuse = (calls: readonly Numbers[], action: number): Instruction[] =>
    calls.flatMap((numbers): Instruction[] => {
      const number = numbers[column];
      return number === null
        ? []
        : [
            [jumpEqual, 0, 1, number],
            [answer, 0, 0, action],
          ];
    });
  return encode([
    [loadWord, 0, 0, callArchitecture],
    [jumpEqual, 1, 0, auditArch[architecture]],
    [answer, 0, 0, kill],
    [loadWord, 0, 0, callNumber],
    // The x32 numbers of x64 would be a second way to every call; arm64 has no calls this high.
    [jumpAtLeast, 0, 1, 0x4000_0000],
    [answer, 0, 0, kill],
    ...refuse(noProcess, errno(EPERM)),
    ...refuse(absent, errno(ENOSYS)),
    ...refuse(noSocketPair, errno(EACCES)),
    ...(sockets === 'none' ? refuse([socket], errno(EACCES)) : unixOnly(socket[column] ?? -1)),
    ...refuse(forbidden, errno(EPERM)),
    ...noLocks(fcntl[column] ?? -1),
    // A thread may be made, a process not.
    [jumpEqual, 0, 3, clone[column] ?? -1],
    [loadWord, 0, 0, firstArgument],
    [jumpAnyBit, 1, 0, cloneThread],
    [answer, 0, 0, errno(EPERM)],
    [answer, 0, 0, allow],
  ]);
}

// The family is a C int: the kernel reads these 32 bits alone.
function unixOnly(number: number): Instruction[] {
  return [
    [jumpEqual, 0, 4, number],
    [loadWord, 0, 0, firstArgument],
    [jumpEqual, 1, 0, unixFamily],
    [answer, 0, 0, errno(EACCES)],
    [answer, 0, 0, allow],
  ];
}

// The command is an unsigned int: the kernel reads these 32 bits alone.
function noLocks(number: number): Instruction[] {
  return [
    [jumpEqual, 0, lockCommands.length * 2 + 2, number],
    [loadWord, 0, 0, secondArgument],
    ...lockCommands.flatMap((command): Instruction[] => [
      [jumpEqual, 0, 1, command],
      [answer, 0, 0, errno(EPERM)],
    ]),
    [answer, 0, 0, allow],
  ];
}

function encode(program: readonly Instruction[]): Uint8Array {
  const bytes = new Uint8Array(program.length * 8);
  const view = new DataView(bytes.buffer);
  program.forEach(([code, whenTrue, whenFalse, value], at) => {
    view.setUint16(at * 8, code, true);
    view.setUint8(at * 8 + 2, whenTrue);
    view.setUint8(at * 8 + 3, whenFalse);
    view.setUint32(at * 8 + 4, value, true);
  });
  return bytes;
}
