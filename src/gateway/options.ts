import { type Allowance, allowancePeriods } from '../approval/allowance.ts';
import type { Approver } from '../approval/decision.ts';
import type { Policy } from '../approval/policy.ts';
import type { ApprovalRequest } from '../approval/request.ts';
import { type Clock, systemClock } from '../clock.ts';
import { invalidOption } from '../errors.ts';
import { randomHex, requireId } from '../ids.ts';
import type { SkillSet } from '../menu/skill-set.ts';
import { requireWhole } from '../run/options.ts';
import type { Person, RunService } from '../run/service.ts';
import type { Limits, Net } from '../skill/caps.ts';
import type { JsonObject } from '../skill/json.ts';
import type { AgentLevel } from '../step/record.ts';
import type { AuditEntry } from '../store/audit.ts';
import { checkedStore } from '../store/checked.ts';
import { createMemoryStore } from '../store/memory.ts';
import type { StorePort } from '../store/port.ts';
import { inTime } from './policy-deadline.ts';
import { type RegistryDown, type RegistryPort, registryDowns } from './registry-port.ts';

/** A tool as the host's hooks see it. */
export interface ToolRef {
  readonly slug: string;
  readonly version: string;
  readonly tool: string;
  readonly net: Net;
  readonly limits: Limits;
}

/** What a host allows a tool, never more than the tool declares. */
export interface Narrowing {
  readonly net?: Net;
  readonly limits?: Partial<Limits>;
}

/** Takes the audit's entries elsewhere, such as into a log that the host keeps. */
export type AuditSink = (entry: AuditEntry) => void | Promise<void>;

/** What a gateway is made from. Identity is fixed here, before a model writes anything. */
export interface GatewayOptions {
  /** Whom every job is submitted as: `usr_<ULID>` and `prj_<ULID>`. */
  person: Person;
  /**
   * The agent that calls: `agt_<ULID>`, what it may do on its own (default `ask`), and whether it works with no
   * person present (default `false`): policy is told, and its allowance is charged.
   */
  agent?: { id: string; level?: AgentLevel; alone?: boolean };
  /** The scope of replays, such as a conversation's id: 1 to 200 characters. Default: a fresh one. */
  session?: string;
  /** From `verifySkills`; shared by any number of gateways. */
  skills: SkillSet;
  /** Where jobs run: a Run, a local Link, or several, tried in order. */
  run: RunService | readonly RunService[];
  /**
   * Asks the person and waits. Without one, `call` answers `awaiting_approval` at once. `'none'`: there is nobody
   * to ask, now or later, as in a job that runs by night; what would be asked ends as `no_approver` at once.
   */
  approver?: Approver<ApprovalRequest> | 'none';
  /** The host's rules over steps; no answer within 10 seconds refuses. Default: every step is asked for. */
  policy?: Policy;
  /**
   * How many metered seconds the agent may run in each calendar period (UTC) while it is alone: the worst case
   * of a run is held before its submit, and what it spent is counted in the period in which that was. It is
   * shared by all gateways of this person, project and agent over one store. Default: no ceiling.
   */
  allowance?: Allowance;
  /**
   * Asked again for a skill's listing before a submit, so that a skill which is retired or failed after it was
   * installed stops. Pass one object to all gateways: they share its answers. Default: none is asked.
   */
  registry?: RegistryPort;
  /** Milliseconds after which a listing is asked for again. Default 300000, at most 86400000. */
  listingMaxAgeMs?: number;
  /** What a registry that does not answer means. Default `no-net-for-a-day`. */
  registryDown?: RegistryDown;
  /** Where steps, grants and the audit live. Default: memory. */
  store?: StorePort;
  /** Whether the audit holds the arguments of what was asked, approved and edited. Default `false`: their size. */
  auditValues?: boolean;
  /**
   * Told of each audit entry after it was appended, in the order of this gateway. It is not waited for; where it
   * fails there is a `fault` event, and nothing stops.
   */
  auditSink?: AuditSink;
  /** Default: the machine's clock. */
  clock?: Clock;
  /** Changes a call's valid arguments before anyone is asked; the answer is validated again. */
  transformArguments?: (args: JsonObject, tool: ToolRef) => unknown;
  /** Narrows a tool's network and limits; an answer that widens either throws `widening_refused`. */
  narrow?: (tool: ToolRef) => Narrowing | undefined;
  /** Milliseconds a step stays pending. Default 900000, 60000 to 86400000. */
  approvalExpiryMs?: number;
  /** The most pending steps of one agent. Default 20. */
  maxPending?: number;
  /**
   * After how many denials in one turn one and the same call, when it is made again, is denied without asking. A
   * turn is what `newTurn` ends, or what the calls name as `turn`. Default 2, 1 to 100.
   */
  maxRepeatDenials?: number;
  /** Milliseconds a tier has to place a job before the next one is tried. Default 10000. */
  placementWaitMs?: number;
  /** Milliseconds a process has a step for itself while it submits it. Default 30000. */
  leaseMs?: number;
}

/** Options with their defaults, checked. */
export interface Settings {
  readonly person: Person;
  readonly agent: string | null;
  readonly level: AgentLevel;
  /** Whether the agent works with no person present. */
  readonly alone: boolean;
  readonly allowance: Allowance | undefined;
  readonly session: string;
  readonly skills: SkillSet;
  readonly services: readonly RunService[];
  readonly approver: Approver<ApprovalRequest> | 'none' | undefined;
  readonly policy: Policy | undefined;
  readonly registry: RegistryPort | undefined;
  readonly listingMaxAgeMs: number;
  readonly registryDown: RegistryDown;
  readonly store: StorePort;
  readonly auditValues: boolean;
  readonly auditSink: AuditSink | undefined;
  readonly clock: Clock;
  readonly transformArguments: GatewayOptions['transformArguments'];
  readonly narrow: GatewayOptions['narrow'];
  readonly approvalExpiryMs: number;
  readonly maxPending: number;
  readonly maxRepeatDenials: number;
  readonly placementWaitMs: number;
  readonly leaseMs: number;
}

/** @throws `option_invalid`, naming the option, its rule and the remedy */
export function readOptions(options: GatewayOptions): Settings {
  const { person, agent, session, run } = options;
  const level = agent?.level ?? 'ask';
  if (!['observe', 'ask', 'auto'].includes(level)) {
    throw invalidOption('agent.level', 'must be "observe", "ask" or "auto"', 'Leave it out for "ask".');
  }
  const { approver } = options;
  if (approver !== undefined && approver !== 'none' && typeof approver !== 'function') {
    throw invalidOption('approver', 'must be a function or "none"', 'Leave it out to decide later.');
  }
  const alone = agent?.alone ?? false;
  if (typeof alone !== 'boolean') {
    throw invalidOption('agent.alone', 'must be a boolean', 'Leave it out for a present person.');
  }
  if (session !== undefined) requireName('session', session, 'Leave it out for a fresh one.');
  const services: readonly RunService[] = Array.isArray(run) ? run : [run as RunService];
  if (services.length === 0 || services.some((service) => typeof service?.submit !== 'function')) {
    throw invalidOption(
      'run',
      'must be a RunService or a list of them',
      'Use createRunService or createLocalLink.',
    );
  }
  if (new Set(services.map((service) => service.id)).size !== services.length) {
    throw invalidOption('run', 'must not hold two services of one id', 'Give each its own id.');
  }
  if (typeof options.skills?.find !== 'function') {
    throw invalidOption('skills', 'must be a SkillSet', 'Pass what verifySkills returned.');
  }
  return Object.freeze({
    person: Object.freeze({
      subject: requireId('usr', person?.subject, 'person.subject'),
      project: requireId('prj', person?.project, 'person.project'),
    }),
    agent: agent === undefined ? null : requireId('agt', agent.id, 'agent.id'),
    level,
    alone,
    allowance: readAllowance(options),
    session: session ?? `session-${randomHex(16)}`,
    skills: options.skills,
    services,
    approver,
    policy: options.policy && inTime(options.policy, options.clock ?? systemClock),
    ...readRegistry(options),
    store: checkedStore(options.store ?? createMemoryStore()),
    ...readAudit(options),
    clock: options.clock ?? systemClock,
    transformArguments: options.transformArguments,
    narrow: options.narrow,
    approvalExpiryMs: requireWhole(
      'approvalExpiryMs',
      options.approvalExpiryMs ?? 900_000,
      60_000,
      86_400_000,
    ),
    maxPending: requireWhole('maxPending', options.maxPending ?? 20, 1, 1000),
    maxRepeatDenials: requireWhole('maxRepeatDenials', options.maxRepeatDenials ?? 2, 1, 100),
    placementWaitMs: requireWhole('placementWaitMs', options.placementWaitMs ?? 10_000, 0, 120_000),
    leaseMs: requireWhole('leaseMs', options.leaseMs ?? 30_000, 1000, 600_000),
  });
}

/** A text of the host's that is stored in every step: one that no store reads again would stand in the way of all. */
export function requireName(option: string, name: unknown, remedy: string): void {
  if (typeof name === 'string' && name.length >= 1 && name.length <= 200) return;
  throw invalidOption(option, 'must be a text of 1 to 200 characters', remedy);
}

function readAllowance({ allowance, agent }: GatewayOptions): Allowance | undefined {
  if (allowance === undefined) return undefined;
  if (agent === undefined) {
    throw invalidOption('allowance', 'is of an agent, and there is none', 'Pass `agent` with its id.');
  }
  const { seconds, period } = allowance ?? {};
  if (!allowancePeriods.includes(period)) {
    throw invalidOption(
      'allowance.period',
      `must be one of ${allowancePeriods.join(', ')}`,
      'Pass one of them.',
    );
  }
  return Object.freeze({ seconds: requireWhole('allowance.seconds', seconds, 1, 1_000_000_000), period });
}

function readRegistry(
  options: GatewayOptions,
): Pick<Settings, 'registry' | 'listingMaxAgeMs' | 'registryDown'> {
  const { registry, listingMaxAgeMs = 300_000, registryDown = 'no-net-for-a-day' } = options;
  if (registry !== undefined && typeof registry?.listing !== 'function') {
    throw invalidOption('registry', 'must have a function `listing`', 'Leave it out where there is none.');
  }
  if (!registryDowns.includes(registryDown)) {
    throw invalidOption('registryDown', `must be one of ${registryDowns.join(', ')}`, 'Pass one of them.');
  }
  return {
    registry,
    listingMaxAgeMs: requireWhole('listingMaxAgeMs', listingMaxAgeMs, 0, 86_400_000),
    registryDown,
  };
}

function readAudit({
  auditValues = false,
  auditSink,
}: GatewayOptions): Pick<Settings, 'auditValues' | 'auditSink'> {
  if (typeof auditValues !== 'boolean') {
    throw invalidOption('auditValues', 'must be a boolean', 'Leave it out for an audit without values.');
  }
  if (auditSink !== undefined && typeof auditSink !== 'function') {
    throw invalidOption('auditSink', 'must be a function', 'Leave it out where there is none.');
  }
  return { auditValues, auditSink };
}
