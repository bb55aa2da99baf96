import type { Outcome } from '../../src/gateway/outcome.ts';
import type { Person } from '../../src/run/service.ts';
import type { Json } from '../../src/skill/json.ts';
import type { Effect } from './chaos-store.ts';
import type { Sent } from './evidence.ts';
import type { GatewayAct } from './perform.ts';
import type { ProcessPlan, StoreTrouble } from './schedule.ts';
import type { Target } from './stores.ts';

/** What a process of its own is started with. */
export interface Start {
  readonly target: Target;
  /** Where Run and its network listen. */
  readonly url: string;
  /** Of the fast clock. */
  readonly epoch: number;
  /** Whether its store is careless. */
  readonly careless: boolean;
}

/** What it is told to do. */
export type Order =
  | {
      readonly kind: 'act';
      readonly id: number;
      readonly act: GatewayAct;
      readonly person: Person;
      readonly plan: ProcessPlan;
      readonly approvalExpiryMs: number;
      readonly trouble: StoreTrouble;
    }
  /** To kill itself at the await point so many from now; 0: at none, and its store is in no trouble any more. */
  | { readonly kind: 'die'; readonly points: number };

/** What it tells. */
export type Report =
  | { readonly kind: 'ready' }
  | { readonly kind: 'sent'; readonly subject: string; readonly sent: Sent }
  /** At which nanosecond of the machine's, so that what several processes did can be put in order. */
  | { readonly kind: 'did'; readonly subject: string; readonly effect: Effect; readonly at: number }
  /** A call of the store failed, as others held it or its connection broke. */
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'finished'; readonly subject: string; readonly step: string }
  | {
      readonly kind: 'got';
      readonly subject: string;
      readonly step: string | undefined;
      readonly outcome: Outcome;
      /** The value of a completed call: the outcome's own does not show itself. */
      readonly value: Json;
    }
  | {
      readonly kind: 'done';
      readonly id: number;
      readonly subject: string;
      /** The decision that it was about, and what came of it. */
      readonly applied?: Sent;
      readonly thrown?: string;
    };

/** The header that says whose mock Run a request is for. */
export const subjectHeader = 'x-chaos-subject';
