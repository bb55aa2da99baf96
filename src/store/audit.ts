import { canonicalJson, type Json } from '../skill/json.ts';
import { sha256 } from '../skill/sha256.ts';

/**
 * What an audit entry is about. All but `end` and `conflict` are written before the act: `conflict` says that
 * the decision written just before was not applied, because another one was.
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

/** One thing that is about to happen, or has ended. Digests, sizes and ids; never an argument or a result. */
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
  /** How it ended, or a code. */
  readonly status: string | null;
}

/** An entry of the chain of one person and project: each holds the hash of the one before it. */
export interface AuditEntry extends AuditFacts {
  /** `aud_<ULID>`. */
  readonly id: string;
  /** 1 for the first of a chain. */
  readonly seq: number;
  /** The hash of the entry before it; 64 zeros for the first. */
  readonly previous: string;
  /** sha256 over the canonical JSON of everything else in this entry, and of the chain it belongs to. */
  readonly hash: string;
}

/** Whose chain it is. */
export interface AuditScope {
  readonly subject: string;
  readonly project: string;
}

/** The `previous` of a chain's first entry. */
export const auditRoot = '0'.repeat(64);

/** The entry that follows `head` in a chain. */
export async function chainEntry(
  scope: AuditScope,
  head: Pick<AuditEntry, 'seq' | 'hash'> | undefined,
  id: string,
  facts: AuditFacts,
): Promise<AuditEntry> {
  const body = { ...facts, id, seq: (head?.seq ?? 0) + 1, previous: head?.hash ?? auditRoot };
  const chain = { subject: scope.subject, project: scope.project };
  return { ...body, hash: await sha256(canonicalJson({ chain, body } as unknown as Json)) };
}
