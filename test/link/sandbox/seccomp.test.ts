import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Architecture, isArchitecture, seccompProgram } from '../../../src/link/sandbox/seccomp.ts';

const allow = 0x7fff_0000;
const kill = 0x8000_0000;
const errno = (code: number): number => 0x0005_0000 + code;
const arch = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;

/** Runs a filter as the kernel would, over a struct seccomp_data; every program must end in an answer. */
function evaluate(
  program: Uint8Array,
  architecture: number,
  call: number,
  argument = 0n,
  second = 0n,
): number {
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, call, true);
  data.setUint32(4, architecture, true);
  data.setBigUint64(16, argument, true);
  data.setBigUint64(24, second, true);
  const code = new DataView(program.buffer);
  let accumulator = 0;
  for (let at = 0; at < program.length / 8; at += 1) {
    const [whenTrue, whenFalse] = [code.getUint8(at * 8 + 2), code.getUint8(at * 8 + 3)];
    const value = code.getUint32(at * 8 + 4, true);
    const jump = (holds: boolean): void => {
      at += holds ? whenTrue : whenFalse;
    };
    switch (code.getUint16(at * 8, true)) {
      case 0x20:
        accumulator = data.getUint32(value, true);
        break;
      case 0x15:
        jump(accumulator === value);
        break;
      case 0x35:
        jump(accumulator >= value);
        break;
      case 0x45:
        jump((accumulator & value) !== 0);
        break;
      case 0x06:
        return value;
      default:
        throw new Error('an instruction that the filter should not have');
    }
  }
  throw new Error('the filter has no answer');
}

// From the kernel's own headers: [name, x64, arm64, answer].
const calls: [string, number | null, number | null, number][] = [
  ['read', 0, 63, allow],
  ['write', 1, 64, allow],
  ['execve', 59, 221, allow],
  ['mmap', 9, 222, allow],
  ['futex', 202, 98, allow],
  ['fork', 57, null, errno(1)],
  ['vfork', 58, null, errno(1)],
  ['clone3', 435, 435, errno(38)],
  ['io_uring_setup', 425, 425, errno(38)],
  ['socket', 41, 198, errno(13)],
  ['socketpair', 53, 199, errno(13)],
  ['ptrace', 101, 117, errno(1)],
  ['process_vm_writev', 311, 271, errno(1)],
  ['unshare', 272, 97, errno(1)],
  ['setns', 308, 268, errno(1)],
  ['mount', 165, 40, errno(1)],
  ['open_by_handle_at', 304, 265, errno(1)],
  ['memfd_create', 319, 279, errno(1)],
  ['bpf', 321, 280, errno(1)],
  ['keyctl', 250, 219, errno(1)],
  ['shmget', 29, 194, errno(1)],
  ['mq_open', 240, 180, errno(1)],
  ['flock', 73, 32, errno(1)],
  ['cachestat', 451, 451, errno(1)],
  ['mincore', 27, 232, errno(1)],
  ['io_setup', 206, 0, errno(1)],
];

describe.each(['x64', 'arm64'] as Architecture[])('the filter for %s', (architecture) => {
  const program = seccompProgram(architecture, 'none');
  const own = arch[architecture];
  const clone = architecture === 'x64' ? 56 : 220;

  it.each(calls)('answers %s', (_, x64, arm64, answer) => {
    const call = architecture === 'x64' ? x64 : arm64;
    if (call !== null) expect(evaluate(program, own, call)).toBe(answer);
  });

  it('lets a thread be made, and no process, whatever other flags say', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn }), (flags) => {
        const thread = (flags & 0x1_0000n) !== 0n;
        expect(evaluate(program, own, clone, flags)).toBe(thread ? allow : errno(1));
      }),
    );
  });

  it('lets no lock or lease be taken or asked for, and fcntl do all else', () => {
    const fcntl = architecture === 'x64' ? 72 : 25;
    const locks = new Set([5, 6, 7, 36, 37, 38, 1024, 1025]);
    for (let command = 0; command < 1100; command += 1) {
      for (const high of [0n, 1n << 32n]) {
        const answer = evaluate(program, own, fcntl, 3n, BigInt(command) + high);
        expect(answer).toBe(locks.has(command) ? errno(1) : allow);
      }
    }
  });

  it('kills on every other architecture', () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), fc.nat(500), (other, call) => {
        fc.pre(other !== own);
        expect(evaluate(program, other, call)).toBe(kill);
      }),
    );
  });

  it('kills on a call number of a second table', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0x4000_0000, max: 0xffff_ffff }), (call) => {
        expect(evaluate(program, own, call)).toBe(kill);
      }),
    );
  });

  it('lets a tool with a network make unix sockets, and differs in nothing else', () => {
    const network = seccompProgram(architecture, 'unix');
    const socket = architecture === 'x64' ? 41 : 198;
    fc.assert(
      fc.property(fc.oneof(fc.nat(50), fc.bigInt({ min: 0n, max: 0xffff_ffff_ffff_ffffn })), (argument) => {
        // The kernel takes the family as an int.
        const isUnix = BigInt.asUintN(32, BigInt(argument)) === 1n;
        expect(evaluate(network, own, socket, BigInt(argument))).toBe(isUnix ? allow : errno(13));
      }),
    );
    for (let call = 0; call < 600; call += 1) {
      if (call !== socket) expect(evaluate(network, own, call, 1n)).toBe(evaluate(program, own, call, 1n));
    }
  });

  it('answers every call number', () => {
    for (let call = 0; call < 600; call += 1) expect(() => evaluate(program, own, call)).not.toThrow();
  });
});

it('knows two architectures', () => {
  expect(['x64', 'arm64', 'ia32', 'riscv64', 's390x'].filter(isArchitecture)).toEqual(['x64', 'arm64']);
});
