import { invalidOption } from '../errors.ts';
import { type AuditEntry, type AuditScope, auditHash, auditRoot, isAuditEntry } from './audit.ts';
import { parseAuditLine } from './audit-line.ts';

/** A place in a chain. */
export type AuditHead = Pick<AuditEntry, 'seq' | 'hash'>;

/** What {@link verifyAudit} goes by besides the entries. */
export interface VerifyAuditOptions {
  /** The entry after which they begin, verified before. Default: they begin with the chain. */
  from?: AuditHead | null;
  /** The last entry that the caller knows of. Without it, or with null, an end that was cut off cannot be seen. */
  head?: AuditHead | null;
}

/** What was done to a chain. */
export type AuditFault = 'changed' | 'missing' | 'out-of-order' | 'added';

/** A chain that holds, with its last entry; or the first place at which it does not. */
export type AuditVerdict =
  | { readonly ok: true; readonly count: number; readonly head: AuditHead | null }
  | { readonly ok: false; readonly seq: number; readonly reason: AuditFault; readonly message: string };

/**
 * Finds the first entry of a chain that was changed, removed, moved or added since it was written.
 *
 * Each entry holds the hash of the one before it, so nobody can change one without all that follow it; whoever
 * can write them all anew is found out by a `head` that was kept elsewhere.
 *
 * @param scope whose chain it is; the entries of another one count as changed
 * @param entries oldest first, as entries of the store or lines of an export; blank lines are passed over
 * @throws `option_invalid` for a `from` or `head` that is none
 */
export async function verifyAudit(
  scope: AuditScope,
  entries: Iterable<AuditEntry | string> | AsyncIterable<AuditEntry | string>,
  { from, head }: VerifyAuditOptions = {},
): Promise<AuditVerdict> {
  for (const [name, given] of Object.entries({ from, head })) requireHead(name, given);
  const rest = sound(scope, entries);
  try {
    return await walk(rest, from, head);
  } finally {
    // A file that the entries are read from is closed.
    await rest.return(undefined);
  }
}

// One of another shape would fit no entry, and so find nothing.
function requireHead(name: string, given: AuditHead | null | undefined): void {
  if (given === undefined || given === null) return;
  if (Number.isSafeInteger(given.seq) && given.seq >= 0 && typeof given.hash === 'string') return;
  const remedy = 'Pass the `head` of a verdict, or an entry; null where there was none.';
  throw invalidOption(name, 'must have `seq`, a whole number, and `hash`, a text', remedy);
}

async function walk(
  rest: AsyncIterator<AuditEntry | undefined>,
  from: AuditHead | null | undefined,
  head: AuditHead | null | undefined,
): Promise<AuditVerdict> {
  let last: AuditHead = from ?? { seq: 0, hash: auditRoot };
  for (let count = 0; ; count += 1) {
    if (head?.seq === last.seq && head.hash !== last.hash) {
      return fault(last.seq, 'changed', 'it is another one than the head, or all up to it were written anew');
    }
    const { value: entry, done } = await rest.next();
    if (done) {
      if (head && last.seq < head.seq) return fault(last.seq + 1, 'missing', 'the chain went on');
      return { ok: true, count, head: last.seq === 0 ? null : { seq: last.seq, hash: last.hash } };
    }
    if (entry === undefined || !follows(entry, last)) return explain(entry, last, count, rest);
    last = entry;
  }
}

// What the first entry that does not fit means for the chain, by those that come after it.
async function explain(
  entry: AuditEntry | undefined,
  last: AuditHead,
  count: number,
  rest: AsyncIterator<AuditEntry | undefined>,
): Promise<AuditVerdict> {
  const due = last.seq + 1;
  if (entry === undefined) {
    const { value: next } = await rest.next();
    if (next !== undefined && follows(next, last)) return fault(due, 'added', 'the true one comes after it');
    return fault(due, 'changed', 'its hash is not that of what it says');
  }
  if (entry.seq <= last.seq) return fault(entry.seq, 'added', 'it is there twice');
  if (entry.seq === due) {
    // It is whole and was written after another one than the one before it.
    if (count > 0) return fault(last.seq, 'changed', 'the next one was written after another');
    return fault(due, 'changed', 'it was written after another than where the entries begin');
  }
  for (;;) {
    const { value: later, done } = await rest.next();
    if (done) return fault(due, 'missing', 'a later one is in its place');
    if (later !== undefined && follows(later, last))
      return fault(due, 'out-of-order', 'a later one is before it');
  }
}

function follows(entry: AuditEntry, { seq, hash }: AuditHead): boolean {
  return entry.seq === seq + 1 && entry.previous === hash;
}

function fault(seq: number, reason: AuditFault, why: string): AuditVerdict {
  return { ok: false, seq, reason, message: `Entry ${seq} of the audit is ${reason}: ${why}.` };
}

// Each entry, or `undefined` where it is none, or its hash is not its own.
async function* sound(
  scope: AuditScope,
  entries: Iterable<AuditEntry | string> | AsyncIterable<AuditEntry | string>,
): AsyncGenerator<AuditEntry | undefined, undefined> {
  for await (const given of entries) {
    if (typeof given === 'string' && given.trim() === '') continue;
    yield await read(scope, given);
  }
}

async function read(scope: AuditScope, given: unknown): Promise<AuditEntry | undefined> {
  try {
    const entry = typeof given === 'string' ? parseAuditLine(given) : given;
    if (!isAuditEntry(entry)) return undefined;
    const { hash, ...body } = entry;
    return (await auditHash(scope, body)) === hash ? entry : undefined;
  } catch {
    // What is no JSON has no hash.
    return undefined;
  }
}
