import type { Subscription } from '../events.ts';
import { randomHex } from '../ids.ts';
import type { Guidance } from '../menu/guidance.ts';
import type { Menu } from '../menu/skill-set.ts';
import { utf8 } from '../skill/sha256.ts';
import type { StepRecord } from '../step/record.ts';
import { jobOf, outcomeOf } from './answer.ts';
import { type Approvals, createApprovals, createGrants, find, type Grants } from './approvals.ts';
import { type AuditLog, createAuditLog } from './audit-log.ts';
import { createContext, type GatewayContext, requireOpen } from './context.ts';
import { supersede, unlessNobody } from './decide.ts';
import { createDrives, type Drives } from './drive.ts';
import type { GatewayEvents } from './events.ts';
import { openStep, UnsureIfStored } from './open.ts';
import { type GatewayOptions, readOptions, requireName } from './options.ts';
import { type CallRef, editedOf, type Outcome, summaryOf } from './outcome.ts';
import { audit, load } from './record.ts';
import { type ModelCall, type Resolved, resolve } from './resolve.ts';

/** How one call, or one batch of calls, is made. */
export interface CallOptions {
  /** The scope of call ids inside the session: 1 to 200 characters. Default: the turns that `newTurn` counts. */
  turn?: string;
  /** Cancels: before the submit nothing runs, after it the job is asked to end once. */
  signal?: AbortSignal;
}

/** The one way from a model's calls to the sandbox, for one person and one agent. */
export interface SkillGateway extends AsyncDisposable {
  readonly menu: Menu;
  readonly guidance: Guidance;
  /** Brings one call to its one outcome. Rejects only for a fault of the caller's. */
  call(call: ModelCall, options?: CallOptions): Promise<Outcome>;
  /** Outcomes in call order: all are recorded first, then decided and run side by side. */
  callAll(calls: readonly ModelCall[], options?: CallOptions): Promise<Outcome[]>;
  readonly approvals: Approvals;
  readonly grants: Grants;
  readonly audit: AuditLog;
  /** Goes on with a step after a decision or a restart, in any process. Never prompts. */
  resume(stepId: string, options?: Pick<CallOptions, 'signal'>): Promise<Outcome>;
  /**
   * Resumes every step of this person that is decided and has not ended. What was never submitted, and is of a skill
   * that this gateway does not have, ends `skill_unavailable`; that of another agent is left to it.
   */
  resumeAll(): Promise<Outcome[]>;
  /**
   * The person spoke: call ids start afresh at once, and what they denied may be asked for again. With `supersede`
   * the steps of this session and agent that still wait for a decision end as `superseded`, which settles when all
   * have: a late approval of one is refused.
   */
  newTurn(options?: { supersede?: boolean }): Promise<void>;
  /** Listens; a listener that throws starves nobody and is told of as `listener-error`. */
  on<Name extends keyof GatewayEvents>(
    name: Name,
    listener: (event: GatewayEvents[Name]) => void,
  ): Subscription;
  /** The same events as an async iterator; leaving the loop, or closing the gateway, ends it. */
  events<Name extends keyof GatewayEvents>(name: Name): AsyncIterableIterator<GatewayEvents[Name]>;
  /** Stops waiting and following. Records stay as they are, for a resume. */
  close(): Promise<void>;
}

/**
 * Makes the gateway of one person and one agent. It is cheap: everything that is dear is in the skill set.
 *
 * @throws `option_invalid`, naming the option, its rule and the remedy
 */
export function createSkillGateway(options: GatewayOptions): SkillGateway {
  const closer = new AbortController();
  const context = createContext(readOptions(options), closer.signal);
  const drives = createDrives(context);
  provideCode(context);
  let turns = 1;

  const callAll: SkillGateway['callAll'] = async (calls, { turn = `turn-${turns}`, signal } = {}) => {
    requireOpen(context);
    requireName('turn', turn, 'Leave it out for the current turn.');
    // All are read before the first is recorded: a fault of the host's that throws leaves nothing behind.
    const read = calls.map((call) => readCall(context, call));
    const begun: Begun[] = [];
    for (const one of read) begun.push(await begin(context, one, turn));
    return Promise.all(
      begun.map((one) => told(context, one, finishCall(context, drives, one, true, signal))),
    );
  };
  const resumeStep = (step: StepRecord, signal?: AbortSignal): Promise<Outcome> => {
    const begun = { call: step.call, step };
    return told(context, begun, finishCall(context, drives, begun, false, signal));
  };
  const close = async (): Promise<void> => {
    closer.abort();
    await drives.settled();
    context.events.clear();
  };

  return {
    menu: context.skills.menu,
    guidance: context.skills.guidance,
    call: async (call, callOptions) => (await callAll([call], callOptions))[0] as Outcome,
    callAll,
    approvals: createApprovals(context, drives),
    grants: createGrants(context),
    audit: createAuditLog(context),
    async resume(stepId, { signal } = {}) {
      requireOpen(context);
      return resumeStep(await find(context, stepId), signal);
    },
    async resumeAll() {
      requireOpen(context);
      const open = await context.store.steps.open(context.scope);
      const decided = open.filter((step) => step.state !== 'pending' && isOurs(context, step));
      return Promise.all(decided.map((step) => resumeStep(step)));
    },
    async newTurn({ supersede: ends = false } = {}) {
      turns += 1;
      if (!ends) return;
      requireOpen(context);
      await supersede(context);
    },
    on: (name, listener) => context.events.on(name, listener),
    events: (name) => context.events.iterate(name, closer.signal),
    close,
    [Symbol.asyncDispose]: close,
  };
}

// Another agent may have other skills: to judge its step by a set that lacks the skill would end what it can run.
function isOurs(context: GatewayContext, { attempts, expiresAt, owner, run }: StepRecord): boolean {
  const { skills, clock, agent } = context;
  if (attempts.length > 0 || clock.now() >= expiresAt || owner.agent === agent) return true;
  return skills.findTool(run.slug, run.version, run.tool) !== undefined;
}

/** A call on its way: its step, or the outcome of one that became none. */
type Begun = { call: CallRef; step: StepRecord } | { call: CallRef; outcome: Outcome };

interface ReadCall {
  readonly call: CallRef;
  readonly hasId: boolean;
  readonly resolved: Resolved;
}

function readCall(context: GatewayContext, given: ModelCall): ReadCall {
  const model: Partial<ModelCall> = given ?? {};
  const hasId = typeof model.id === 'string' && model.id !== '';
  const id = hasId ? (model.id as string) : `call_${randomHex(12)}`;
  // What is no text names no tool.
  const call = { id, name: typeof model.name === 'string' ? model.name : '' };
  return { call, hasId, resolved: resolve(context, model.arguments, call) };
}

async function begin(
  context: GatewayContext,
  { call, hasId, resolved }: ReadCall,
  turn: string,
): Promise<Begun> {
  try {
    if (!resolved.ok) {
      const { outcome } = resolved;
      if (outcome.status === 'refused')
        await audit(context, 'refuse', undefined, { by: outcome.code ?? null });
      return { call, outcome };
    }
    const { run } = resolved;
    const step = await context.openInTurn(() => openStep(context, call, hasId, turn, run));
    return { call, step: await unlessNobody(context, step) };
  } catch (error) {
    if (error instanceof UnsureIfStored) {
      return { call, outcome: await faultOf(context, call, error.step, error.cause) };
    }
    return { call, outcome: await faultOf(context, call, undefined, error) };
  }
}

async function finishCall(
  context: GatewayContext,
  drives: Drives,
  begun: Begun,
  prompt: boolean,
  signal?: AbortSignal,
): Promise<Outcome> {
  if ('outcome' in begun) return begun.outcome;
  const { call, step } = begun;
  try {
    const acted = await drives.wait(step, prompt, signal);
    if (acted.kind === 'aborted') await drives.cancel((await load(context, step.id)) ?? step);
    return await outcomeOf(context, call, step.id, acted);
  } catch (error) {
    return await faultOf(context, call, step, error);
  }
}

async function told(context: GatewayContext, begun: Begun, outcome: Promise<Outcome>): Promise<Outcome> {
  const { call, status, executed } = await outcome;
  if ('step' in begun) context.taint.note(await outcome, begun.step.session);
  context.events.emit('call-finished', { call, status, executed });
  return outcome;
}

// A port of the host's failed. The call still ends in one outcome, and the host hears why by an event.
async function faultOf(
  context: GatewayContext,
  call: CallRef,
  step: StepRecord | undefined,
  error: unknown,
): Promise<Outcome> {
  context.events.emit('fault', { step: step?.id ?? null, error });
  const base = { call, durable: context.store.durable, code: 'port-failed' };
  if (step === undefined) {
    const message = "The call could not be recorded, for a fault on the host's side. Nothing ran.";
    return { ...base, status: 'run_error', executed: false, message };
  }
  // Only the record as it is now says that nothing was sent.
  const now = await load(context, step.id).catch(() => undefined);
  const known = { ...base, step: summaryOf(now ?? step), ...jobOf(now ?? step), ...editedOf(now ?? step) };
  const message = `The step ${step.id} could not go on, for a fault on the host's side.`;
  return now?.attempts.length === 0
    ? {
        ...known,
        status: 'run_error',
        executed: false,
        message: `${message} Nothing ran; it can be resumed.`,
      }
    : { ...known, status: 'outcome_unknown', executed: 'unknown', message: `${message} It can be resumed.` };
}

function provideCode({ services, skills }: GatewayContext): void {
  const takers = services.filter((service) => service.provide !== undefined);
  if (takers.length === 0) return;
  const resources = skills.skills.flatMap((skill) =>
    skill.pins.map(({ mediaId, sha256, text }) => ({ mediaId, sha256, bytes: utf8(text) })),
  );
  for (const service of takers) service.provide?.(resources);
}
