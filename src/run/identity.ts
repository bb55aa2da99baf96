import { randomHex, requireId } from '../ids.ts';
import type { Person } from './service.ts';

/**
 * The headers that say for whom a call is (ours: `X-OV-Subject`, `X-OV-Project`), and its W3C
 * `traceparent`. Made before anything is awaited, so that a later change of the object changes nothing.
 */
export function identityHeaders(
  person: Person,
  traceparent?: () => string | undefined,
): Record<string, string> {
  return {
    'x-ov-subject': requireId('usr', person.subject, 'person.subject'),
    'x-ov-project': requireId('prj', person.project, 'person.project'),
    traceparent: trace(traceparent),
  };
}

/** The trace id, 32 hex digits, of a W3C `traceparent`; `undefined` for anything else. */
export function traceIdOf(traceparent: string): string | undefined {
  return /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/.exec(traceparent)?.[1];
}

// Tracing only watches: a hook that throws or answers nonsense gets a trace of our own and fails nothing.
function trace(hook: (() => string | undefined) | undefined): string {
  let given: unknown;
  try {
    given = hook?.();
  } catch {
    given = undefined;
  }
  if (typeof given === 'string' && traceIdOf(given) !== undefined) return given;
  return `00-${randomHex(16)}-${randomHex(8)}-01`;
}
