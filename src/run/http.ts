import ky from 'ky';
import pRetry from 'p-retry';
import type { Clock } from '../clock.ts';
import { isSkillRunError } from '../errors.ts';
import { randomHex } from '../ids.ts';
import { mediaType, readText } from './body.ts';
import { withDeadline } from './deadline.ts';
import { requireWhole } from './options.ts';
import { problemOf, RunProblem } from './problem.ts';
import { backoffMs, retryAfterMs } from './retry-delay.ts';
import { requireToken, type TokenSource } from './token.ts';
import { RunUnreachable } from './unreachable.ts';

/** How requests are bounded and repeated. */
export interface HttpOptions {
  /** Default: the platform's own `fetch`. It is handed a `Request` with `redirect: 'error'`. */
  fetch?: typeof fetch | undefined;
  /** Milliseconds for one attempt, from its token to the last byte of its answer, 1 to 600000. Default 10000. */
  requestTimeoutMs?: number | undefined;
  /** How often a repeatable request is sent again, 0 to 10. Default 3. */
  retries?: number | undefined;
  /** The longest wait in milliseconds that a `Retry-After` can ask for, 0 to 600000. Default 30000. */
  maxRetryAfterMs?: number | undefined;
}

/** One call: one request, sent as often as its rules allow. */
export interface HttpCall<T> {
  /** Names the call in messages, such as `reading a job`. */
  readonly what: string;
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly accept: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The bearer token; left out where the call has none. */
  readonly token?: TokenSource;
  /** Credentials that stand in the URL or body, kept out of errors like the token. */
  readonly secrets?: readonly string[];
  /** Whether sending it twice does no more than sending it once. */
  readonly repeatable: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly read: (response: Response) => Promise<T>;
}

/** Sends a call and reads its answer. */
export type Send = <T>(call: HttpCall<T>) => Promise<T>;

const maxProblemBytes = 65_536;

/** The one place from which requests leave. ky sends, p-retry repeats, the clock waits. */
export function createSend(options: HttpOptions, clock: Clock): Send {
  const timeoutMs = requireWhole('requestTimeoutMs', options.requestTimeoutMs ?? 10_000, 1, 600_000);
  const retries = requireWhole('retries', options.retries ?? 3, 0, 10);
  const maxWaitMs = requireWhole('maxRetryAfterMs', options.maxRetryAfterMs ?? 30_000, 0, 600_000);
  const client = ky.create({
    retry: 0,
    timeout: false,
    throwHttpErrors: false,
    // A bearer token never follows a redirect, and no cookie of a browser goes along.
    redirect: 'error',
    credentials: 'omit',
    ...(options.fetch === undefined ? {} : { fetch: options.fetch }),
  });

  return async <T>(call: HttpCall<T>): Promise<T> => {
    const { what, signal } = call;
    const requestId = randomHex(12);
    const secrets = [...(call.secrets ?? [])];
    let sent = 0;
    let refreshed = false;
    let doubtful = false;

    const ask = async (source: TokenSource, refresh: boolean): Promise<string> => {
      let token: unknown;
      try {
        token = await source({ refresh });
      } catch {
        throw new RunUnreachable(what, sent, 'token() failed');
      }
      try {
        return requireToken(token);
      } catch (error) {
        // `option_invalid` says that nothing was sent.
        throw sent === 0 ? error : new RunUnreachable(what, sent, 'token() gave no bearer token');
      }
    };

    const attempt = async (refresh: boolean): Promise<T> => {
      const before = sent;
      try {
        return await request(refresh);
      } catch (error) {
        doubtful ||= sent > before && !isRefusal(error);
        throw error;
      }
    };

    const request = (refresh: boolean): Promise<T> => {
      const late = (): Error => new RunUnreachable(what, sent, `no answer within ${timeoutMs} ms`);
      return withDeadline({ clock, ms: timeoutMs, signal, late }, async (stop) => {
        const token = call.token === undefined ? undefined : await ask(call.token, refresh);
        if (token !== undefined) secrets.push(token);
        // The deadline may have passed while the host looked for its token.
        stop.throwIfAborted();
        sent += 1;
        try {
          const response = await client(call.url, {
            method: call.method,
            headers: {
              ...call.headers,
              accept: call.accept,
              'cache-control': 'no-store',
              'x-openvibe-request-id': `${requestId}.${sent}`,
              ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
              ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
            },
            ...(call.body === undefined ? {} : { body: call.body }),
            signal: stop,
          });
          if (response.ok) return await call.read(response);
          throw problemOf(what, {
            status: response.status,
            text: mediaType(response).endsWith('json')
              ? ((await readText(response, maxProblemBytes)) ?? '')
              : '',
            retryAfterMs: retryAfterMs(response.headers.get('retry-after'), clock.now()),
            secrets,
            doubtful,
          });
        } catch (error) {
          if (isSkillRunError(error)) throw error;
          throw new RunUnreachable(what, sent, `no answer${faultCode(error)}`);
        }
      });
    };

    const authorized = async (): Promise<T> => {
      try {
        return await attempt(false);
      } catch (error) {
        const rejected = error instanceof RunProblem && error.status === 401;
        if (!rejected || refreshed || call.token === undefined) throw error;
        refreshed = true;
        return attempt(true);
      }
    };

    return pRetry(authorized, {
      retries: call.repeatable ? retries : 0,
      // The wait itself is the clock's, below.
      minTimeout: 0,
      shouldRetry: async ({ error, attemptNumber }) => {
        if (!isSkillRunError(error) || !error.retryable) return false;
        const asked = error instanceof RunProblem ? error.retryAfterMs : undefined;
        await clock.sleep(Math.min(asked ?? backoffMs(attemptNumber), maxWaitMs), signal);
        return true;
      },
    });
  };
}

// Only a refusal of the request itself says that nothing was made of it.
function isRefusal(error: unknown): boolean {
  return error instanceof RunProblem && error.status >= 400 && error.status < 500 && error.status !== 408;
}

// A system's own word such as ECONNREFUSED; a fetch's message may hold anything.
function faultCode(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : undefined;
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined;
  return typeof code === 'string' && /^(?:E|UND_ERR_|ERR_|CERT_)[A-Z0-9_]{2,40}$/.test(code)
    ? `, ${code}`
    : '';
}
