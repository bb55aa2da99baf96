import { isSkillRunError, SkillRunError } from '../../errors.ts';
import { nets } from '../../skill/caps.ts';
import { internet, type Outside } from '../egress/outside.ts';
import { type BaseFolder, createBaseFolder } from './base-folder.ts';
import { bwrapCommand, bwrapPrograms } from './bwrap.ts';
import type { Command, Job } from './command.ts';
import type { Ground } from './ground.ts';
import { canBecomeSandboxUser, findProgram } from './host.ts';
import { inspectNode, type NodeBinary } from './node-binary.ts';
import { requireSandboxOptions, type SandboxOptions, warmOptions } from './options.ts';
import { answersWithAllLayers, holdsWarm, probe } from './probe.ts';
import { probeNetwork } from './probe-network.ts';
import { runTool } from './run.ts';
import { isArchitecture } from './seccomp.ts';
import { layStartImage } from './start-image.ts';
import type { Backend, RunEnd, Sandbox, ToolRun } from './types.ts';
import { makeMountPoints, utilLinuxCommand, utilLinuxPrograms } from './util-linux.ts';
import { createWarmPool, type WarmPool, type WarmPoolTimes } from './warm-pool.ts';

/**
 * Opens a sandbox on this machine, after a probe has shown that it holds. There is no weaker mode.
 *
 * @throws `link_unavailable` with the reason and the one command that mends it; `option_invalid`
 */
export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return openAdjustedSandbox(options, (command) => command);
}

/** The same, with a hand on each command line, an internet and times of one's own: for tests. */
export async function openAdjustedSandbox(
  options: SandboxOptions,
  adjust: (command: Command) => Command,
  outside: Outside = internet,
  times: WarmPoolTimes = {},
): Promise<Sandbox> {
  requireSandboxOptions(options);
  if (process.platform !== 'linux') {
    throw unavailable('The sandbox is built from Linux namespaces.', 'Run it on Linux.');
  }
  if (!isArchitecture(process.arch)) {
    throw unavailable(`No system call filter is known for ${process.arch}.`, 'Run it on x64 or arm64.');
  }
  if (!canBecomeSandboxUser()) {
    throw unavailable(
      'This process is root of a user namespace in which there is no user nobody (65534).',
      'Run it as an ordinary user, or give the container a range of 65536 user and group ids.',
    );
  }
  const node = await inspectNode(options.node ?? process.execPath);
  const base = await createBaseFolder(process.arch, options.directory);
  try {
    const faults: unknown[] = [];
    for (const backend of candidates(options.backend)) {
      try {
        const build = builder(backend, node, base);
        const command = (job: Job): Command => adjust(build(job));
        const alone: Ground = { backend, node, base, image: false, nets: ['deny'], outside, command };
        const { places, bytes } = warmOptions(options);
        // Side by side, and both done before anything is removed.
        const network = whyNoNetwork(alone);
        const holds = await probe(alone)
          .then(() => places > 0 && holdsWarm(alone))
          .finally(() => network);
        const withheld = await network;
        const ground: Ground = { ...alone, nets: withheld === undefined ? nets : ['deny'] };
        const pool = createWarmPool(ground, { ...times, places: holds ? places : 0, bytes });
        return { ...sandbox(ground, pool), ...(withheld !== undefined && { withheld }) };
      } catch (fault) {
        faults.push(fault);
      }
    }
    // The backend that was wanted most says best what is missing.
    throw faults[0];
  } catch (error) {
    await base.remove();
    if (isSkillRunError(error)) throw error;
    throw unavailable('The probe of the sandbox broke off.', 'Make room where its folder is.', error);
  }
}

// A tool without network is held all the same, so this does not throw.
async function whyNoNetwork(ground: Ground): Promise<string | undefined> {
  if (ground.backend !== 'bwrap') {
    return 'A tool with a network is held by bwrap alone, as it takes a filter of system calls.';
  }
  try {
    await probeNetwork(ground);
    return undefined;
  } catch (error) {
    return isSkillRunError(error) ? error.message : 'The probe of a tool with a network broke off.';
  }
}

function candidates(wanted: Backend | undefined): Backend[] {
  if (wanted !== undefined) return [wanted];
  return findProgram('bwrap') === undefined ? ['util-linux'] : ['bwrap', 'util-linux'];
}

function builder(backend: Backend, node: NodeBinary, base: BaseFolder): (job: Job) => Command {
  if (backend === 'bwrap') {
    const find = locate(bwrapPrograms);
    return (job) => bwrapCommand(job, find);
  }
  const find = locate(utilLinuxPrograms);
  makeMountPoints(node, base);
  return (job) => utilLinuxCommand(job, find);
}

const packages: Readonly<Record<string, string>> = { bwrap: 'bubblewrap', hostname: 'hostname' };

// All of them at once, so that what a sandbox is made of does not change while it is open.
function locate<Name extends string>(names: readonly Name[]): (name: Name) => string {
  const paths = new Map(
    names.map((name) => {
      const path = findProgram(name);
      if (path !== undefined) return [name, path];
      const remedy = `Run: sudo apt-get install ${packages[name] ?? 'util-linux'}`;
      throw unavailable(`The program ${name} is not on PATH.`, remedy);
    }),
  );
  return (name) => paths.get(name) as string;
}

function sandbox(ground: Ground, pool: WarmPool): Sandbox {
  const closing = new AbortController();
  const running = new Set<Promise<RunEnd>>();
  let imaging: Promise<void> | undefined;
  const makeImage = async (): Promise<void> => {
    await layStartImage(ground.node, ground.base, closing.signal);
    await answersWithAllLayers({ ...ground, image: true });
    ground.image = true;
  };
  pool.fill();
  return {
    backend: ground.backend,
    seccomp: ground.backend === 'bwrap' ? 'on' : 'absent',
    nets: ground.nets,
    async run(run: ToolRun) {
      if (closing.signal.aborted) throw new SkillRunError('closed', 'The sandbox is closed. Open another.');
      const signals = [closing.signal, ...(run.signal === undefined ? [] : [run.signal])];
      const end = runTool(ground, { ...run, signal: AbortSignal.any(signals) }, pool);
      running.add(end);
      return end.finally(() => {
        running.delete(end);
        // Not sooner: a tool that runs has the processor before one that may come.
        pool.refill();
        imaging ??= makeImage().catch(() => undefined);
      });
    },
    async close() {
      closing.abort();
      await Promise.allSettled([...running, imaging, pool.close()]);
      await ground.base.remove();
    },
  };
}

function unavailable(reason: string, remedy: string, cause?: unknown): SkillRunError {
  return new SkillRunError('link_unavailable', `${reason} ${remedy}`, { cause });
}
