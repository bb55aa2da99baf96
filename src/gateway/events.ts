import type { ListenerFault } from '../events.ts';
import type { StepDecision } from '../step/record.ts';
import type { CallRef, Outcome, StepSummary } from './outcome.ts';

/** What a gateway tells its listeners. No event holds an argument or a result. */
export interface GatewayEvents {
  /** A person has to decide; `approvals.pending()` has all that he must see. */
  'step-pending': { step: StepSummary };
  'step-decided': { step: StepSummary; effect: StepDecision['effect']; via: StepDecision['via'] };
  'step-submitted': { step: StepSummary; job: string; tier: 'own' | 'pool'; service: string };
  /** Once for every step that ends in this gateway. */
  'step-finished': { step: StepSummary; status: Outcome['status']; executed: Outcome['executed'] };
  /** Once for every outcome that `call`, `callAll` or `resume` returns. */
  'call-finished': { call: CallRef; status: Outcome['status']; executed: Outcome['executed'] };
  'grant-created': { grant: string; step: string };
  /** An "always" that could not be written: the step runs once, and the next one asks again. */
  'grant-failed': { step: string; error: unknown };
  'grant-revoked': { grant: string };
  /** A port failed, such as the store; the call it failed for got an outcome all the same. */
  fault: { step: string | null; error: unknown };
  'listener-error': ListenerFault;
}
