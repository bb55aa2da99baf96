import type { InputSchema } from '../menu/input-schema.ts';
import type { Untrusted } from '../result/untrusted.ts';
import type { ArgsError } from '../skill/args/args-error.ts';
import type { Json, JsonObject } from '../skill/json.ts';
import type { EndStatus, JobSummary } from '../step/end.ts';
import type { StepRecord, StepState } from '../step/record.ts';

/** The call an outcome answers. */
export interface CallRef {
  /** The provider's call id, or one made here where the provider gave none. */
  readonly id: string;
  /** The name the model called, as it wrote it. */
  readonly name: string;
}

/** What an outcome tells of its step. It holds no argument. */
export interface StepSummary {
  readonly id: string;
  readonly state: StepState;
  readonly target: string;
  readonly digest: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

interface OutcomeBase {
  readonly call: CallRef;
  /** Whether a tool's code ran: `'unknown'` where nobody can say. */
  readonly executed: boolean | 'unknown';
  /** Whether the store keeps the step beyond this process. */
  readonly durable: boolean;
  /** Our own words; nothing of a stranger's stands in them but names. */
  readonly message: string;
  /** Where the call became a step. */
  readonly step?: StepSummary;
  /** A stable id of what decided it, such as a policy rule or a code of Run's. */
  readonly code?: string;
  /** Text of a node or of Run. */
  readonly detail?: Untrusted<string>;
  /** Where the step became a job. */
  readonly job?: JobSummary;
  /** Where the person approved it with other arguments than the model's: those, whole. */
  readonly edited?: { readonly arguments: JsonObject };
}

/** The tool ran and answered. */
export interface Completed extends OutcomeBase {
  readonly status: 'completed';
  readonly executed: true;
  readonly value: Untrusted<Json>;
}

/** The person has to decide first: `approvals`, then `resume`. */
export interface AwaitingApproval extends OutcomeBase {
  readonly status: 'awaiting_approval';
  readonly executed: false;
  readonly step: StepSummary;
}

/** The model's arguments do not fit the tool's schema; nobody was asked. */
export interface InvalidArguments extends OutcomeBase {
  readonly status: 'invalid_arguments';
  readonly executed: false;
  readonly errors: readonly ArgsError[];
  readonly inputSchema: InputSchema;
}

/** The model called a name that is not in the menu. */
export interface UnknownTool extends OutcomeBase {
  readonly status: 'unknown_tool';
  readonly executed: false;
  /** The names that are. */
  readonly available: readonly string[];
}

/** No node can run it. Nothing ran, and nothing else runs in its stead. */
export interface NoNode extends OutcomeBase {
  readonly status: 'no_node';
  readonly executed: false;
  readonly offer: MachineOffer;
}

/** How a person gets a node of his own. */
export interface MachineOffer {
  readonly label: string;
  readonly how: string;
}

/** The offer that goes with every `no_node`. */
export const machineOffer: MachineOffer = Object.freeze({
  label: 'Run it on my machine',
  how: 'Install OpenVibe Link on a machine of yours and turn skills on there: openvibe-link skills on',
});

/** Every other way in which a call can end. */
export interface Ended extends OutcomeBase {
  readonly status: Exclude<EndStatus, 'completed' | 'no_node'> | 'duplicate_call';
}

/** What became of one call. Exactly one for every call a model makes. */
export type Outcome = Completed | AwaitingApproval | InvalidArguments | UnknownTool | NoNode | Ended;

/** What an outcome tells of the step's arguments: only what the model does not know. */
export function editedOf({ edited, run }: StepRecord): Pick<OutcomeBase, 'edited'> {
  return edited === null ? {} : { edited: { arguments: run.arguments } };
}

/** The summary of a step that stands in an outcome. */
export function summaryOf(step: StepRecord): StepSummary {
  const { id, state, target, digest, expiresAt } = step;
  return { id, state, target, digest, expiresAt };
}
