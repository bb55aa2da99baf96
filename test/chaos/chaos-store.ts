import type { StepRecord } from '../../src/step/record.ts';
import type { AllowanceRecord } from '../../src/store/allowance.ts';
import type { AuditEntry } from '../../src/store/audit.ts';
import type { StorePort } from '../../src/store/port.ts';

/** Something that was done, for the most part by the store, in the order in which it was. */
export type Effect =
  | { readonly kind: 'created' | 'updated'; readonly step: StepRecord; readonly life: number }
  | { readonly kind: 'audited'; readonly entry: AuditEntry; readonly life: number }
  | { readonly kind: 'granted'; readonly grant: string; readonly key: string; readonly life: number }
  | { readonly kind: 'removed'; readonly grant: string; readonly life: number }
  | { readonly kind: 'charged'; readonly account: AllowanceRecord; readonly life: number }
  /** A call of the model's, and a turn of the person's that ends what waits: when they began, and it was done. */
  | { readonly kind: 'called'; readonly call: string; readonly life: number }
  | { readonly kind: 'superseding' | 'superseded'; readonly turn: number }
  /** A look for a grant: when it began. */
  | { readonly kind: 'looked'; readonly key: string; readonly life: number };

/** Calls one method of a store. */
export type Through = <T>(what: string, call: () => Promise<T>) => Promise<T>;

/** The store as one process sees it: each call goes `through`, each effect is told. */
export function storeThrough(
  store: StorePort,
  through: Through,
  life: number,
  told: (effect: Effect) => void,
): StorePort {
  const { steps, grants, audit, allowance } = store;
  return {
    durable: store.durable,
    steps: {
      ...around(steps, 'steps', through),
      create: (step) =>
        through('steps.create', async () => {
          const answer = await steps.create(step);
          if (answer.created) told({ kind: 'created', step, life });
          return answer;
        }),
      update: (step) =>
        through(updateOf(step), async () => {
          const stored = await steps.update(step);
          if (stored) told({ kind: 'updated', step, life });
          return stored;
        }),
    },
    grants: {
      ...around(grants, 'grants', through),
      put: (grant) =>
        through('grants.put', async () => {
          const stored = await grants.put(grant);
          if (stored.id === grant.id) told({ kind: 'granted', grant: grant.id, key: grant.key, life });
          return stored;
        }),
      find: (key) =>
        through('grants.find', async () => {
          told({ kind: 'looked', key, life });
          return grants.find(key);
        }),
      remove: (id, scope) =>
        through('grants.remove', async () => {
          const removed = await grants.remove(id, scope);
          if (removed) told({ kind: 'removed', grant: id, life });
          return removed;
        }),
    },
    audit: {
      ...around(audit, 'audit', through),
      append: (scope, entry) =>
        through('audit.append', async () => {
          const appended = await audit.append(scope, entry);
          if (appended) told({ kind: 'audited', entry, life });
          return appended;
        }),
    },
    allowance: {
      ...around(allowance, 'allowance', through),
      put: (account) =>
        through('allowance.put', async () => {
          const stored = await allowance.put(account);
          if (stored) told({ kind: 'charged', account, life });
          return stored;
        }),
    },
  };
}

// What the attempt came to that it hands over, or a step as it goes.
function updateOf({ attempts }: StepRecord): string {
  const state = attempts.at(-1)?.state ?? 'open';
  return state === 'open' ? 'steps.update' : `steps.update ${state}`;
}

type Method = (...args: never[]) => Promise<unknown>;

function around<Group extends object>(group: Group, name: string, through: Through): Group {
  const methods = Object.entries(group) as [string, Method][];
  return Object.fromEntries(
    methods.map(([method, call]) => [
      method,
      (...args: never[]) => through(`${name}.${method}`, () => call(...args)),
    ]),
  ) as Group;
}
