import { randomHex } from '../ids.ts';
import { traceIdOf } from '../run/identity.ts';

/** What ties an answer to its request. */
export interface Trace {
  readonly requestId: string;
  /** 32 hex digits, where the request had a valid `traceparent`. */
  readonly traceId?: string;
  /** The headers that are echoed. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Reads `X-OpenVibe-Request-Id` and `traceparent` (W3C). What is not of their shape is never echoed. */
export function readTrace(headers: Headers): Trace {
  const given = headers.get('x-openvibe-request-id') ?? '';
  const requestId = /^[A-Za-z0-9._-]{8,128}$/.test(given) ? given : randomHex(12);
  const parent = headers.get('traceparent') ?? '';
  const traceId = traceIdOf(parent);
  if (traceId === undefined) return { requestId, headers: { 'x-openvibe-request-id': requestId } };
  return { requestId, traceId, headers: { 'x-openvibe-request-id': requestId, traceparent: parent } };
}
