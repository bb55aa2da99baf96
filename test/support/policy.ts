import type { PolicyContext } from '../../src/approval/policy.ts';

/** What a gateway would tell a policy: an agent that asks, in a quiet session, of a clean skill. */
export function someContext(change: Partial<PolicyContext> = {}): PolicyContext {
  return {
    level: 'auto',
    alone: false,
    taint: false,
    count: { turn: 0, session: 0, pending: 0 },
    skill: {
      publisher: 'usr_01JCCCCCCCCCCCCCCCCCCCCCCC',
      verdict: 'clean',
      findings: { fail: 0, flag: 0 },
    },
    placement: async () => 'own',
    ...change,
  };
}
