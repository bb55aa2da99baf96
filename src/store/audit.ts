import { isId } from '../ids.ts';
import { canonicalJson, type Json, type JsonObject } from '../skill/json.ts';
import { sha256 } from '../skill/sha256.ts';

/**
 * What an audit entry is about. All but `end` and `conflict` are written before the act; `deny`, `refuse`, `expire`
 * and `cancel` end a step that has no `end` besides. `conflict` says that what was written before is not so: `status`
 * names the event, and `by` whose it was or the grant, as another decision was first or the store failed.
 */
export type AuditEvent =
  | 'ask'
  | 'edit'
  | 'approve'
  | 'deny'
  | 'refuse'
  | 'expire'
  | 'cancel'
  | 'submit'
  | 'withdraw'
  | 'grant'
  | 'revoke'
  | 'conflict'
  | 'end';

/**
 * One thing that is about to happen, or has ended. Digests, sizes and ids; an argument only where the host asked
 * for it, and never a result.
 */
export interface AuditFacts {
  readonly event: AuditEvent;
  /** RFC 3339. */
  readonly at: string;
  readonly step: string | null;
  /** The step's digest. */
  readonly digest: string | null;
  readonly target: string | null;
  /** Bytes of the arguments' JSON. */
  readonly argumentBytes: number | null;
  /** `usr_…`, `grt_…` or a rule's id: who or what decided. */
  readonly by: string | null;
  /** `job_…` or an idempotency key. */
  readonly job: string | null;
  /** How it ended, or a code; of an `edit` the digest that the step has from then on. */
  readonly status: string | null;
  /**
   * The arguments, with `auditValues`, of an `ask`, `approve` or `edit`; else null. A text is the sha256 of
   * arguments that were left out of an export. Absent in entries of before there was the field.
   */
  readonly arguments?: JsonObject | string | null;
}

/** An entry of the chain of one person and project: each holds the hash of the one before it. */
export interface AuditEntry extends AuditFacts {
  /** `aud_<ULID>`. */
  readonly id: string;
  /** 1 for the first of a chain. */
  readonly seq: number;
  /** The hash of the entry before it; 64 zeros for the first. */
  readonly previous: string;
  /**
   * sha256 over the canonical JSON of everything else in this entry, and of the chain it belongs to. In place of
   * arguments it is over their own sha256, so that an entry without them still tells whether it was changed.
   */
  readonly hash: string;
}

/** Whose chain it is. */
export interface AuditScope {
  readonly subject: string;
  readonly project: string;
}

/** The `previous` of a chain's first entry. */
export const auditRoot = '0'.repeat(64);

/** Whether a value has the shape of an entry; whether it is one of a chain is what `verifyAudit` tells. */
export function isAuditEntry(value: unknown): value is AuditEntry {
  if (typeof value !== 'object' || value === null) return false;
  const { id, seq, previous, hash } = value as Partial<Record<keyof AuditEntry, unknown>>;
  return (
    isId('aud', id) && Number.isSafeInteger(seq) && typeof previous === 'string' && typeof hash === 'string'
  );
}

/** The entry that follows `head` in a chain. */
export async function chainEntry(
  scope: AuditScope,
  head: Pick<AuditEntry, 'seq' | 'hash'> | undefined,
  id: string,
  facts: AuditFacts,
): Promise<AuditEntry> {
  const body = { ...facts, id, seq: (head?.seq ?? 0) + 1, previous: head?.hash ?? auditRoot };
  return { ...body, hash: await auditHash(scope, body) };
}

/** The hash of an entry: over its fields as they are, so that a field of a later version changes no older one. */
export async function auditHash(scope: AuditScope, body: Omit<AuditEntry, 'hash'>): Promise<string> {
  const chain = { subject: scope.subject, project: scope.project };
  return sha256(canonicalJson({ chain, body: await withoutValues(body) } as unknown as Json));
}

/** An entry in which the sha256 of its arguments stands in their place. */
export async function withoutValues<Entry extends Pick<AuditFacts, 'arguments'>>(
  entry: Entry,
): Promise<Entry> {
  const { arguments: args } = entry;
  if (typeof args !== 'object' || args === null) return entry;
  return { ...entry, arguments: await sha256(canonicalJson(args)) };
}
