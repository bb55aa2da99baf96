import type { Clock } from '../clock.ts';
import { aborted, systemClock } from '../clock.ts';
import { invalidOption, SkillRunError } from '../errors.ts';
import { randomHex, requireId } from '../ids.ts';
import { requireWhole } from '../run/options.ts';
import type { FollowOptions, Person, RunNode, RunService } from '../run/service.ts';
import type { Job } from '../run/wire.ts';
import { isEnd } from '../run/wire.ts';
import type { DoctorReport } from './doctor.ts';
import { doctor } from './doctor.ts';
import { checkJobRequest } from './job-request.ts';
import type { JobEngine } from './jobs.ts';
import { createJobEngine } from './jobs.ts';
import type { MediaSource } from './media.ts';
import { createMediaStore } from './media.ts';
import { refusal } from './refusal.ts';
import type { Sandbox } from './sandbox/types.ts';
import { runSkillJob, takesJob } from './skill-job.ts';

/** What a Link needs, whatever opens its sandbox. */
export interface LinkOptions {
  /** `usr_<ULID>`: the one person whose jobs this Link runs. */
  owner: string;
  /** The owner's word that skills may run on this machine. A Link is off until it is given. */
  skills: 'on';
  /** Where code comes from that was not provided in this process. */
  media?: MediaSource;
  /** Tools running at once, 1 to 64. Default 2. */
  maxJobs?: number;
  clock?: Clock;
}

/** A Link that is ready to run. */
export interface LinkReady {
  readonly backend: Sandbox['backend'];
  readonly seccomp: Sandbox['seccomp'];
  /** The node's id. */
  readonly node: string;
}

/**
 * A Run of one machine and one owner, in this process.
 *
 * The sandbox is opened and probed at the first need. Where that fails, `ready`, `nodes` and `submit` reject
 * with `link_unavailable`, the message says the reason and what mends it, and the next need tries again.
 * Everything of another person's is refused: `nodes` answers none, the rest rejects with `run_problem`.
 * Jobs are kept in memory, so each Link has an `id` of its own, `link:<node id>`.
 */
export interface LocalLink extends RunService, AsyncDisposable {
  ready(): Promise<LinkReady>;
  /** Looks at what this machine can hold, layer by layer; also where the Link cannot run. */
  doctor(): Promise<DoctorReport>;
  provide: NonNullable<RunService['provide']>;
  /** Cancels what runs and takes the sandbox down. */
  close(): Promise<void>;
}

/** A Link and the engine under it, for the HTTP API. */
export interface Link {
  readonly link: LocalLink;
  readonly engine: JobEngine;
}

/** Builds a Link over a sandbox that `open` makes when it is first needed. */
export function createLink(
  options: LinkOptions,
  open: () => Promise<Sandbox>,
  examine: () => Promise<DoctorReport> = doctor,
): Link {
  const owner = requireId('usr', options.owner, 'owner');
  if ((options.skills as unknown) !== 'on') {
    throw invalidOption(
      'skills',
      'a Link is off until its owner turns it on',
      `Pass skills: 'on' once the owner has said so.`,
    );
  }
  const maxJobs = requireWhole('maxJobs', options.maxJobs ?? 2, 1, 64);
  if (options.media !== undefined && typeof options.media !== 'function') {
    throw invalidOption('media', 'not a function', 'Pass one that answers the bytes of a media id.');
  }
  const clock = options.clock ?? systemClock;
  const node = `link-${randomHex(6)}`;
  const store = createMediaStore();
  const media: MediaSource = async (id, about) =>
    (await store.source(id, about)) ?? (await options.media?.(id, about));
  let opened: Sandbox | undefined;
  let opening: Promise<Sandbox> | undefined;
  let closed = false;

  const sandbox = (): Promise<Sandbox> => {
    if (closed) return Promise.reject(new SkillRunError('closed', 'This Link was closed. Make a new one.'));
    opening ??= open().then(
      (made) => {
        opened = made;
        return made;
      },
      (error) => {
        opening = undefined;
        throw error;
      },
    );
    return opening;
  };

  const inner = createJobEngine({
    clock,
    maxJobs,
    execute: async (_job, spec, control) => runSkillJob(spec, control, { sandbox: await sandbox(), media }),
    place: (_job, spec) =>
      opened !== undefined && takesJob(spec, opened.nets)
        ? { node, provider: 'openvibe-link', region: null }
        : undefined,
    whyNot: (spec) => (spec.egress === 'none' ? undefined : opened?.withheld?.slice(0, 1024)),
  });

  const ownersOnly = (person: Person): void => {
    if (person.subject !== owner) throw notOwner();
    requireId('prj', person.project, 'project');
  };

  const engine: JobEngine = {
    ...inner,
    async submit(spec, person) {
      ownersOnly(person);
      await sandbox();
      return inner.submit(spec, person);
    },
    async close() {
      closed = true;
      await inner.close();
      await opening?.then(
        (made) => made.close(),
        () => undefined,
      );
    },
  };

  const link: LocalLink = {
    id: `link:${node}`,
    async ready() {
      const { backend, seccomp } = await sandbox();
      return { backend, seccomp, node };
    },
    doctor: () => examine(),
    async submit(request, { person, signal }) {
      if (signal?.aborted) throw aborted(signal);
      // A copy: the job may wait in the queue, and what was submitted is what runs.
      return engine.submit(checkJobRequest(structuredClone(request), person.project), person);
    },
    async get(jobId, { person }) {
      ownersOnly(person);
      return engine.get(jobId, person);
    },
    async cancel(jobId, { person }) {
      ownersOnly(person);
      return engine.cancel(jobId, person);
    },
    async follow(jobId, followed) {
      ownersOnly(followed.person);
      return followJob(engine, clock, jobId, followed);
    },
    async nodes({ person }): Promise<RunNode[]> {
      if (person.subject !== owner) return [];
      const { backend, seccomp, nets } = await sandbox();
      const detail = `this machine, sandbox: ${backend}, seccomp: ${seccomp}`;
      return [{ node, tier: 'own', nets, detail }];
    },
    async diagnostics(jobId, { person }) {
      ownersOnly(person);
      return engine.diagnostics(jobId, person);
    },
    provide: store.provide,
    close: engine.close,
    [Symbol.asyncDispose]: engine.close,
  };
  return { link, engine };
}

/** The refusal of everyone whose machine this is not. */
export function notOwner(): Error {
  return refusal(
    403,
    'capability.denied',
    "This Link runs its owner's jobs only. Use a Link of this person.",
  );
}

async function followJob(
  engine: JobEngine,
  clock: Clock,
  jobId: string,
  { person, signal, budgetMs, onJob, until }: FollowOptions,
): Promise<Job | undefined> {
  if (signal?.aborted) throw aborted(signal);
  const over = new AbortController();
  // Not a listener a follower: hundreds may share the caller's one signal.
  const stop = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]);
  clock.sleep(budgetMs, stop).then(
    () => over.abort(),
    () => undefined,
  );
  let last: Job['state'] | undefined;
  try {
    for await (const event of engine.events(jobId, person, { signal: stop })) {
      const job = engine.get(jobId, person);
      if (event.type === 'output' || job.state === last) continue;
      last = job.state;
      onJob?.(job);
      if (isEnd(job.state) || until?.(job) === true) return job;
    }
  } finally {
    over.abort();
  }
  if (signal?.aborted) throw aborted(signal);
  return undefined;
}
