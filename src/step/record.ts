import type { Limits, Net } from '../skill/caps.ts';
import type { JsonObject } from '../skill/json.ts';
import type { Verdict } from '../skill/listing.ts';
import type { StepEnd } from './end.ts';

// Ours, from ADR-060 and the platform's confirmations.

/**
 * The states of a step: `pending → approved → submitting → submitted → running → ended`, and the ends
 * before a submit.
 */
export type StepState =
  | 'pending'
  | 'approved'
  | 'submitting'
  | 'submitted'
  | 'running'
  | 'ended'
  | 'denied'
  | 'expired'
  | 'cancelled'
  | 'superseded'
  | 'refused';

/** What this library calls the act, in the platform's words. */
export const stepKind = 'skill.run';
/** What a person reads for the kind. */
export const stepLabel = "running a skill's code in a sandbox";

/** What an agent may do on its own: look on, ask for every step, or do what policy allows and ask for the rest. */
export type AgentLevel = 'observe' | 'ask' | 'auto';

/** Who a step acts for: fixed at the gateway's construction. */
export interface StepOwner {
  readonly subject: string;
  readonly project: string;
  /** `agt_<ULID>`, or null for a host that has no agent id. */
  readonly agent: string | null;
}

/** Exactly what runs, if it runs: everything the digest is taken over, with {@link StepOwner}. */
export interface StepRun {
  readonly slug: string;
  readonly version: string;
  /** The skill document's sha256. */
  readonly hash: string;
  readonly tool: string;
  readonly entry: string;
  readonly pins: readonly StepPin[];
  /** Validated, as they will run. */
  readonly arguments: JsonObject;
  readonly net: Net;
  readonly limits: Limits;
}

/** One job input of a step. */
export interface StepPin {
  /** The job input's file name. */
  readonly name: string;
  readonly mediaId: string;
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
}

/** How a step came to be approved or denied. */
export interface StepDecision {
  /** Its entry in the audit, `aud_…`: of two decisions at once, the one that was applied. Absent in older records. */
  readonly entry?: string;
  readonly effect: 'approve' | 'deny';
  /** A person, a grant that a person made, or the host's policy. */
  readonly via: 'person' | 'grant' | 'policy';
  /** `usr_…` for a person, `grt_…` for a grant, the rule's id for a policy. */
  readonly by: string;
  /**
   * A person's own words, or why a policy's rule allowed it. Those of a denial reach the model, marked as the person's;
   * those of an approval stand in this record alone.
   */
  readonly reason?: string;
  /** RFC 3339. */
  readonly at: string;
}

/** What the registry says of a skill, none of it in the skill's own words. */
export interface SkillFacts {
  /** `usr_<ULID>`; null where the registry names none. */
  readonly publisher: string | null;
  /** The scan's, at its strictest. */
  readonly verdict: Verdict;
  /** How many findings of each severity the scan has. */
  readonly findings: { readonly fail: number; readonly flag: number };
}

/** What was known when policy was heard, besides the step itself: what a dry run of other rules goes by. */
export interface StepFacts {
  /** Whether the host had a policy, and so whether one must be heard over an edit. */
  readonly policy: boolean;
  readonly skill: SkillFacts;
  readonly level: AgentLevel;
  /** Whether the agent worked with no person present. */
  readonly alone: boolean;
  /** Whether an argument repeats text that came out of an untrusted result in this session. */
  readonly taint: boolean;
  /** Where it would have run first; null where no rule asked. */
  readonly placement: 'own' | 'pool' | 'none' | 'unknown' | null;
  /** Steps that were there before: of the turn, of the session, and those of the agent that wait for a person. */
  readonly count: { readonly turn: number; readonly session: number; readonly pending: number };
}

/** That a person approved with other arguments than the model's. */
export interface StepEdit {
  /** The digest of the step as it was asked. */
  readonly digest: string;
  /** `usr_…` */
  readonly by: string;
  /** RFC 3339. */
  readonly at: string;
}

/** Seconds of the agent's allowance that a step holds. */
export interface StepHold {
  /** The key of the allowance's period. */
  readonly key: string;
  readonly seconds: number;
}

/** One submit to one tier of one Run. Recorded before the request is sent. */
export interface StepAttempt {
  /** `RunService.id`. */
  readonly service: string;
  readonly tier: 'own' | 'pool';
  /** The ids of the tier's nodes as known at the submit, the first 100: one that leaves the list later still counts. */
  readonly nodes: readonly string[];
  /** The idempotency key, from the step's id and the attempt's number. */
  readonly key: string;
  /** Once the Run has answered. */
  readonly job: string | null;
  /**
   * `open` until it is known that it did not start: `withdrawing` once this library has asked for its end,
   * `unplaced` once it is proven that it never started.
   */
  readonly state: 'open' | 'withdrawing' | 'unplaced';
}

/**
 * One call of one tool, from the ask to its end: plain JSON that another process can go on with. It holds
 * the arguments (a resume needs them) and never a result, a token or a header.
 */
export interface StepRecord {
  readonly schema: 2;
  readonly id: string;
  /** Counts up by one at every change: the compare-and-set of the store. */
  readonly revision: number;
  readonly state: StepState;
  readonly owner: StepOwner;
  readonly session: string;
  readonly turn: string;
  /** The provider's call, echoed; its id is never a key by itself. */
  readonly call: { readonly id: string; readonly name: string };
  /** Equal for replays of one call; null for a call without an id, which is never a replay. */
  readonly replayKey: string | null;
  readonly run: StepRun;
  /** sha256 over owner and run: what an approval binds to. */
  readonly digest: string;
  /** For people: never parsed, never a key. */
  readonly target: string;
  /** Why the person is asked. */
  readonly why: string;
  /** Whether "always allow" may be said to this step. */
  readonly canAlways: boolean;
  /** Null in records of before schema 2, and where policy was not heard. */
  readonly facts: StepFacts | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Milliseconds since 1970; from then on nobody can approve or submit it. */
  readonly expiresAt: number;
  readonly decision: StepDecision | null;
  /** Null where it runs as the model called it. */
  readonly edited: StepEdit | null;
  /** Null where nothing is charged. */
  readonly hold: StepHold | null;
  readonly attempts: readonly StepAttempt[];
  /** Who submits it now, and until when (milliseconds since 1970) nobody else does; null when nobody has it. */
  readonly lease: { readonly holder: string; readonly until: number } | null;
  /** Somebody asked for its end after a submit was recorded: from then on nothing is submitted for it. */
  readonly cancelAsked: boolean;
  /** Set with the states that are an end. */
  readonly end: StepEnd | null;
}
