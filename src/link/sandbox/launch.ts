import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { SkillRunError } from '../../errors.ts';
import type { Command } from './command.ts';
import { sandboxIds } from './host.ts';
import { inheritedDescriptors } from './inherited.ts';
import { childrenOf } from './process-tree.ts';

/** How the keeper of a sandbox ended: with the tool's own code, or by a signal. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A sandbox's keeper process. It outlives everything inside. */
export interface Launched {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Kills everything inside; `exit` tells when nothing is left. */
  kill(): void;
  readonly exit: Promise<Exit>;
  /** Whether the keeper has ended, also before `exit` tells. */
  isGone(): boolean;
  /** Whether the host's own process stays alive for this one. It does until it is said otherwise. */
  hold(held: boolean): void;
}

/**
 * Starts a sandbox, without the host's environment and in a session of its own.
 *
 * @param environment nothing, but for the probe's canary
 * @throws `link_unavailable` when the machine would not start it
 */
export async function launch(command: Command, environment: Record<string, string> = {}): Promise<Launched> {
  const opened: number[] = [];
  const open = (path: string): number => {
    const descriptor = openSync(path, 'r');
    opened.push(descriptor);
    return descriptor;
  };
  try {
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe'];
    const inherited = inheritedDescriptors();
    // A tool would get them all: in the place of each is nothing.
    if (inherited.length > 0) {
      const nothing = open('/dev/null');
      for (let at = 3; at <= Math.max(...inherited); at += 1) {
        stdio[at] = inherited.includes(at) ? nothing : 'ignore';
      }
    }
    if (command.descriptor !== undefined) stdio[3] = open(command.descriptor);
    const child = spawn(command.file, command.args, {
      cwd: '/',
      // Node hands its coverage folder down unless the name stands here.
      env: { NODE_V8_COVERAGE: undefined, ...environment },
      stdio,
      // Else a signal to the tool's process group would reach the host.
      detached: true,
      ...sandboxIds(),
    });
    return await started(child);
  } catch (cause) {
    const message =
      'The sandbox could not be started. Look at how many processes and files this user may have.';
    throw new SkillRunError('link_unavailable', message, { cause, retryable: true });
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function started(child: ChildProcess): Promise<Launched> {
  let gone = false;
  child.once('exit', () => {
    gone = true;
    // Who killed the keeper while it built may have left a child of it with our pipes, waiting for ever.
    const letGo = (): void => {
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    };
    const timer = setTimeout(letGo, orphanMs).unref();
    child.once('close', () => clearTimeout(timer));
  });
  const exit = new Promise<Exit>((resolve) => {
    // `close` comes after `exit`, when the last holder of the pipes is gone.
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.once('spawn', () => {
      const { stdin, stdout, stderr, pid } = child;
      if (stdin === null || stdout === null || stderr === null || pid === undefined) {
        reject(new Error('The process has no pipes.'));
        return;
      }
      // A tool that does not read its input is no fault of ours.
      stdin.on('error', () => undefined);
      const isGone = (): boolean => gone;
      const hold = (held: boolean): void => {
        for (const one of [child, stdin as Socket, stdout as Socket, stderr as Socket]) {
          if (held) one.ref();
          else one.unref();
        }
      };
      const kill = (): void => killInit(pid, isGone);
      resolve({ pid, stdin, stdout, stderr, exit, isGone, hold, kill });
    });
  });
}

/** Milliseconds that what a dead keeper left behind may hold its pipes. */
const orphanMs = 1000;
const retryMs = 10;
const patienceMs = 100;

// The kernel ends a pid namespace with its first process, and only then is the keeper done waiting. The
// keeper itself is killed when there is no such process, or it does not go.
function killInit(keeper: number, isGone: () => boolean, waited = 0): void {
  if (isGone()) return;
  for (const init of childrenOf(keeper)) signal(init);
  if (waited >= patienceMs) signal(keeper);
  else setTimeout(() => killInit(keeper, isGone, waited + retryMs), retryMs);
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
