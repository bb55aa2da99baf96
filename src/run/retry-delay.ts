/** Milliseconds before the attempt after the `attempt`-th: 300 and doubling, up to a half taken off at random. */
export function backoffMs(attempt: number): number {
  const full = 300 * 2 ** Math.min(attempt - 1, 10);
  return Math.round(full * (0.5 + Math.random() / 2));
}

/**
 * What a `Retry-After` header asks for in milliseconds (RFC 9110: seconds, or an HTTP date);
 * `undefined` when it is absent or neither.
 *
 * @param now milliseconds since 1970
 */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (header === null) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(header)) return undefined;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}
