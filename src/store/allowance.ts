/** What one agent has used of its allowance in one period. */
export interface AllowanceRecord {
  /** Of its shape; absent in those of before there was the field. */
  readonly schema?: 1;
  /** Names person, project, agent and period. */
  readonly key: string;
  /** Counts up by one at every change: the compare-and-set of the store. */
  readonly revision: number;
  /** Seconds of runs that have ended. */
  readonly spent: number;
  /** The worst case of each run that has not, in seconds, by the id of its step. */
  readonly held: Readonly<Record<string, number>>;
}
