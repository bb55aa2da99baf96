/** The ways in which a call that became a step can end. */
export type EndStatus =
  | 'completed'
  | 'tool_failed'
  | 'limit'
  | 'denied'
  | 'expired'
  | 'cancelled'
  | 'superseded'
  | 'refused'
  | 'no_approver'
  | 'skill_unavailable'
  | 'no_node'
  | 'placement_violation'
  | 'allowance_exhausted'
  | 'balance_exhausted'
  | 'outcome_unknown'
  | 'run_error';

/** What is known of the job that a step became. */
export interface JobSummary {
  /** `job_<ULID>`. */
  readonly id: string;
  /** The node's id, once placed. */
  readonly node: string | null;
  readonly tier: 'own' | 'pool';
  /** Milliseconds of wall-clock time the tool ran. */
  readonly wallMs: number;
  readonly cpuMs: number | null;
  readonly memPeakBytes: number | null;
  /** Metered seconds. */
  readonly seconds: number;
  readonly exit: { readonly reason: string; readonly code: number | null } | null;
}

/** Whether a tool's code ran, or may have, by how its step ended; not while it has not. */
export function mayHaveRun(end: StepEnd | null): boolean {
  return end !== null && end.executed !== false;
}

/** How a step ended. Holds no argument and no result. */
export interface StepEnd {
  readonly status: EndStatus;
  /** Whether the tool's code ran: `'unknown'` where nobody can say. */
  readonly executed: boolean | 'unknown';
  /** Our own words, fit for a person and for a model. */
  readonly message: string;
  /** A stable id of what decided it: a policy rule, a problem's or a job error's code. */
  readonly code?: string;
  /** Text of a node or of Run: untrusted, at most 1024 characters. */
  readonly detail?: string;
  readonly job?: JobSummary;
  /** RFC 3339. */
  readonly at: string;
  /** Its entry in the audit, `aud_…`. Absent where the step was refused as it was made, and in older records. */
  readonly entry?: string;
}
