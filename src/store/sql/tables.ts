/**
 * The tables. Each record stands in `record` as its own JSON text, which the database never parses; the other
 * columns are what queries need. Text of the host's without a bound (sessions, turns, keys of allowances) goes
 * into columns as a sha256, so that no index meets a text that is too long or that a database cannot hold.
 */
export interface Tables {
  skill_run_schema: { version: number };
  skill_run_steps: StepRow;
  skill_run_grants: GrantRow;
  skill_run_audit: AuditRow;
  skill_run_allowance: AllowanceRow;
}

export interface StepRow {
  id: string;
  revision: number;
  subject: string;
  project: string;
  /** Of subject, project and session. */
  session_key: string;
  turn_key: string;
  digest: string;
  state: string;
  /** 1 while it has not ended. */
  open: number;
  /** 1 when its tool ran, or may have. */
  ran: number;
  replay_key: string | null;
  record: string;
}

export interface GrantRow {
  key: string;
  id: string;
  subject: string;
  project: string;
  record: string;
}

export interface AuditRow {
  subject: string;
  project: string;
  seq: number;
  hash: string;
  record: string;
}

export interface AllowanceRow {
  key: string;
  revision: number;
  record: string;
}
