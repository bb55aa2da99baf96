import type { StepRecord } from '../../step/record.ts';
import { type Policy, type PolicyContext, rule } from '../policy.ts';

/** What a policy would say of a step that was recorded. */
export type Simulated =
  | {
      readonly step: string;
      readonly target: string;
      /** What policy and level said then. */
      readonly was: 'allow' | 'ask' | 'refuse';
      /** What they would say now. */
      readonly now: 'allow' | 'ask' | 'refuse';
      readonly changed: boolean;
      /** The rule that allows or refuses, or why it is asked for. */
      readonly why: string;
    }
  /**
   * Its record does not hold what policy was told: where policy was not heard, in records of before schema 2, and
   * where a person changed the arguments, as what was said and known then was of the model's own.
   */
  | { readonly step: string; readonly target: string; readonly now: 'unknown' };

/**
 * Says of each recorded step what a policy would say of it now. It goes by the facts that were recorded with
 * the step; where nobody asked then where it would run, that is `unknown`. Nothing is stored, asked or run.
 */
export async function simulate(policy: Policy, records: readonly StepRecord[]): Promise<Simulated[]> {
  return Promise.all(
    records.map(async (record) => {
      const { id: step, target, facts, edited } = record;
      if (facts === null || edited !== null) return { step, target, now: 'unknown' } as const;
      const { placement, ...known } = facts;
      const context: PolicyContext = { ...known, placement: async () => placement ?? 'unknown' };
      const ruling = await rule(record, context, policy);
      const was = said(record);
      const why = ruling.effect === 'ask' ? ruling.why : `${ruling.rule}: ${ruling.reason}`;
      return { step, target, was, now: ruling.effect, changed: was !== ruling.effect, why };
    }),
  );
}

function said({ state, why, decision }: StepRecord): 'allow' | 'ask' | 'refuse' {
  // What was refused for another reason, such as too many that wait, had been asked for: it says why.
  if (state === 'refused' && why === '') return 'refuse';
  return decision?.via === 'policy' && decision.effect === 'approve' ? 'allow' : 'ask';
}
