import { execFile } from 'node:child_process';
import { realpath, stat } from 'node:fs/promises';
import { SkillRunError } from '../../errors.ts';
import { sandboxIds } from './host.ts';

/** A Node binary, as it described itself. */
export interface NodeBinary {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** The same as long as the file is. */
  readonly stamp: string;
  readonly major: number;
  readonly minor: number;
  /** What it counts against RLIMIT_DATA before it runs anything, in bytes. */
  readonly dataBytes: number;
  /** Absolute paths of the shared objects it loads, the loader among them. */
  readonly libraries: readonly string[];
}

/** Flags that hold V8's own pools small; with them `dataBytes` is measured, and tools are run. */
export const smallPools = ['--v8-pool-size=1', '--max-semi-space-size=4'] as const;

const describe = `
process.report.excludeNetwork = true;
process.stdout.write(JSON.stringify({
  version: process.versions.node,
  data: require('node:fs').readFileSync('/proc/self/status', 'latin1'),
  libraries: process.report.getReport().sharedObjects,
}))`;

const known = new Map<string, Promise<NodeBinary>>();

/**
 * Asks a Node binary for its version, its data size and its libraries; once for each binary.
 *
 * @throws `link_unavailable` where it cannot be run by the sandbox's user, or is too old
 */
export async function inspectNode(path: string): Promise<NodeBinary> {
  let file: string;
  let key: string;
  try {
    file = await realpath(path);
    const { size, mtimeMs } = await stat(file);
    key = `${file}\0${size}\0${mtimeMs}`;
  } catch (cause) {
    throw unusable('There is no Node binary at the given path.', cause);
  }
  let answer = known.get(key);
  if (answer === undefined) {
    answer = ask(file, key);
    known.set(key, answer);
    // A binary that was mended in place is asked again.
    answer.catch(() => known.delete(key));
  }
  return answer;
}

async function ask(path: string, stamp: string): Promise<NodeBinary> {
  let text: string;
  try {
    text = await output(path);
  } catch (cause) {
    throw unusable("The Node binary cannot be run by the sandbox's user.", cause);
  }
  let said: { version: string; data: string; libraries: string[] };
  try {
    said = JSON.parse(text) as typeof said;
  } catch (cause) {
    throw unusable('The given binary is not a Node.', cause);
  }
  const [major = 0, minor = 0] = String(said.version).split('.').map(Number);
  if (!isSupported(major, minor)) {
    throw unusable(`Node ${major}.${minor} is too old for the sandbox (20.19, 22.12 or newer).`);
  }
  const kilobytes = Number(/^VmData:\s+(\d+) kB$/m.exec(said.data)?.[1]);
  const libraries = said.libraries.filter((library) => library.startsWith('/'));
  if (!Number.isFinite(kilobytes)) throw unusable('The size of the Node binary in memory cannot be read.');
  return { path, stamp, major, minor, dataBytes: kilobytes * 1024, libraries };
}

// The first releases in which a `.js` file may be of either module kind.
function isSupported(major: number, minor: number): boolean {
  if (major === 20) return minor >= 19;
  if (major === 22) return minor >= 12;
  return major >= 23;
}

function output(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // Node hands its coverage folder down unless the name stands here.
    const env = { NODE_V8_COVERAGE: undefined };
    const options = { cwd: '/', env, timeout: 10_000, ...sandboxIds() };
    execFile(path, [...smallPools, '-e', describe], options, (error, stdout) => {
      if (error === null) resolve(stdout);
      else reject(error);
    });
  });
}

function unusable(reason: string, cause?: unknown): SkillRunError {
  return new SkillRunError(
    'link_unavailable',
    `${reason} Pass \`node\`, the path of a Node 20.19 or newer that every user may run, such as /usr/bin/node.`,
    { cause },
  );
}
