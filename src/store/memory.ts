import { deepFreeze } from '../skill/json.ts';
import { mayHaveRun } from '../step/end.ts';
import { readStep } from '../step/read.ts';
import type { StepRecord } from '../step/record.ts';
import { isStepEnd } from '../step/transitions.ts';
import type { AllowanceRecord } from './allowance.ts';
import { type AuditEntry, type AuditScope, auditRoot } from './audit.ts';
import type { Grant } from './grant.ts';
import type { StepQuery, StorePort, StoreScope } from './port.ts';
import { readSnapshot, type Snapshot, writeSnapshot } from './snapshot.ts';

/**
 * The embedded store: it lives as long as the process, and can be carried to another as a snapshot. It keeps all
 * that it was ever given, so a host that runs for long passes a store of its own.
 */
export interface MemoryStore extends StorePort {
  readonly durable: false;
  /** Everything in it as JSON text. It holds arguments of steps, and no token, header or result. */
  snapshot(): string;
}

/**
 * @param snapshot what {@link MemoryStore.snapshot} gave, of this or of another process
 * @throws `snapshot_invalid` for a text that is not such a snapshot
 */
export function createMemoryStore(snapshot?: string): MemoryStore {
  const steps = new Map<string, StepRecord>();
  const open = new Map<string, StepRecord>();
  const replays = new Map<string, string>();
  const sessions = new Map<string, Set<string>>();
  const grants = new Map<string, Grant>();
  const chains = new Map<string, { scope: AuditScope; entries: AuditEntry[] }>();
  const allowance = new Map<string, AllowanceRecord>();
  if (snapshot !== undefined) restore(readSnapshot(snapshot));

  function restore(from: Snapshot): void {
    for (const step of from.steps) putStep(step);
    for (const grant of from.grants.map(kept)) grants.set(grant.key, grant);
    for (const record of from.allowance.map(kept)) allowance.set(record.key, record);
    for (const [scope, entries] of from.audit) {
      chains.set(chainKey(scope), { scope, entries: entries.map(kept) });
    }
  }

  function putStep(given: StepRecord): StepRecord {
    const step = kept(readStep(given));
    steps.set(step.id, step);
    const session = sessions.get(step.session) ?? new Set();
    sessions.set(step.session, session.add(step.id));
    if (step.replayKey !== null) replays.set(step.replayKey, step.id);
    if (isStepEnd(step.state)) open.delete(step.id);
    else open.set(step.id, step);
    return step;
  }

  // Each method does all of its work before it first gives up control: that makes it atomic.
  return {
    durable: false,
    steps: {
      async create(step) {
        const earlier = step.replayKey === null ? undefined : replays.get(step.replayKey);
        if (earlier !== undefined) return { created: false, step: steps.get(earlier) as StepRecord };
        return { created: true, step: putStep(step) };
      },
      get: async (id) => steps.get(id),
      findReplay: async (replayKey) => steps.get(replays.get(replayKey) ?? ''),
      async update(step) {
        if (steps.get(step.id)?.revision !== step.revision - 1) return false;
        putStep(step);
        return true;
      },
      open: async (scope) => [...open.values()].filter((step) => isOf(step.owner, scope)).sort(byTime),
      count: async (query) =>
        [...(sessions.get(query.session) ?? [])].filter((id) => matches(steps.get(id), query)).length,
    },
    grants: {
      async put(grant) {
        const stored = grants.get(grant.key) ?? kept(grant);
        grants.set(grant.key, stored);
        return stored;
      },
      find: async (key) => grants.get(key),
      list: async (scope) => [...grants.values()].filter((grant) => isOf(grant.scope, scope)),
      async remove(id, scope) {
        const grant = [...grants.values()].find((one) => one.id === id && isOf(one.scope, scope));
        return grant !== undefined && grants.delete(grant.key);
      },
    },
    audit: {
      head: async (scope) => chains.get(chainKey(scope))?.entries.at(-1),
      async append(scope, entry) {
        const chain = chains.get(chainKey(scope)) ?? { scope: kept(scope), entries: [] };
        const head = chain.entries.at(-1);
        if ((head?.hash ?? auditRoot) !== entry.previous || (head?.seq ?? 0) + 1 !== entry.seq) return false;
        chain.entries.push(kept(entry));
        chains.set(chainKey(scope), chain);
        return true;
      },
      list: async (scope, { after = 0, limit = Number.POSITIVE_INFINITY } = {}) =>
        (chains.get(chainKey(scope))?.entries ?? []).filter(({ seq }) => seq > after).slice(0, limit),
    },
    allowance: {
      get: async (key) => allowance.get(key),
      async put(record) {
        if ((allowance.get(record.key)?.revision ?? 0) !== record.revision - 1) return false;
        allowance.set(record.key, kept(record));
        return true;
      },
    },
    snapshot: () =>
      writeSnapshot({
        steps: [...steps.values()],
        grants: [...grants.values()],
        audit: [...chains.values()].map(({ scope, entries }) => [scope, entries]),
        allowance: [...allowance.values()],
      }),
  };
}

// A copy of its own, frozen: what was handed in or out cannot change what is stored.
function kept<T>(value: T): T {
  return deepFreeze(structuredClone(value));
}

function isOf(owner: StoreScope, scope: StoreScope): boolean {
  return owner.subject === scope.subject && owner.project === scope.project;
}

function matches(step: StepRecord | undefined, { scope, turn, digest, state, ran }: StepQuery): boolean {
  return (
    step !== undefined &&
    isOf(step.owner, scope) &&
    step.turn === (turn ?? step.turn) &&
    step.digest === (digest ?? step.digest) &&
    step.state === (state ?? step.state) &&
    (ran === undefined || mayHaveRun(step.end))
  );
}

// Ids begin with the time at which they were made. Of one millisecond, the first to be stored is the first.
function byTime(a: StepRecord, b: StepRecord): number {
  const [one, other] = [a.id.slice(0, timeLength), b.id.slice(0, timeLength)];
  return one < other ? -1 : one > other ? 1 : 0;
}

/** `stp_` and the ten characters of a ULID that are its time. */
const timeLength = 14;

function chainKey({ subject, project }: AuditScope): string {
  return JSON.stringify([subject, project]);
}
