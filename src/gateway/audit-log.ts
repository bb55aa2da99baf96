import { requireWhole } from '../run/options.ts';
import { auditLine } from '../store/audit-line.ts';
import { type GatewayContext, requireOpen } from './context.ts';

/** The audit of the gateway's person and project. */
export interface AuditLog {
  /**
   * The chain as lines of JSON without their line feeds, oldest first, read page by page. `verifyAudit` tells
   * whether somebody has changed them since.
   *
   * @param options `after`: the `seq` after which to begin (default 0); `values`: with the arguments that
   *   `auditValues` put there, by default with their sha256 in their place
   */
  export(options?: { after?: number; values?: boolean }): AsyncIterable<string>;
}

const pageSize = 500;

export function createAuditLog(context: GatewayContext): AuditLog {
  return {
    export({ after = 0, values = false } = {}) {
      requireOpen(context);
      return lines(context, requireWhole('after', after, 0, Number.MAX_SAFE_INTEGER), values === true);
    },
  };
}

async function* lines(
  { store, scope }: GatewayContext,
  after: number,
  values: boolean,
): AsyncGenerator<string> {
  for (let at = after; ; ) {
    const page = await store.audit.list(scope, { after: at, limit: pageSize });
    for (const entry of page) yield auditLine(entry, values);
    const last = page.at(-1)?.seq ?? at;
    // A store that does not go on from where it was asked to has no more to give.
    if (last <= at) return;
    at = last;
  }
}
