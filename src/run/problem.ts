import { SkillRunError } from '../errors.ts';
import { forbiddenResultKeys, parseJson } from '../skill/json.ts';
import { visible } from '../skill/text.ts';
import { problemSchema } from './wire-schemas.ts';

// Run's own rule of what may be retried: 500 is not among them.
const retryableStatus: ReadonlySet<number> = new Set([408, 425, 429, 502, 503, 504]);

/** What a {@link RunProblem} is made from. */
export interface RunProblemParts {
  status: number;
  problem: string;
  title?: string | undefined;
  detail?: string | undefined;
  requestId?: string | undefined;
  fields?: readonly { path: string; message: string }[];
  retryAfterMs?: number | undefined;
  doubtful?: boolean;
}

/**
 * A service refused: code `run_problem`. `title`, `detail` and `fields` are the service's own words,
 * bounded, with invisible characters made visible: for the person, never for a model outside a fence.
 */
export class RunProblem extends SkillRunError {
  /** The HTTP status of the answer. */
  readonly status: number;
  /** The problem's code, such as `run.limits.exceeded`; `http.<status>` where the answer named none. */
  readonly problem: string;
  readonly title: string | undefined;
  readonly detail: string | undefined;
  /** The service's own id of the request, for its support. */
  readonly requestId: string | undefined;
  readonly fields: readonly { readonly path: string; readonly message: string }[];
  /** Milliseconds that the service asked to wait, where it did. */
  readonly retryAfterMs: number | undefined;
  /** Whether an earlier request of the same call had no clear answer, so that it may have been heard. */
  readonly doubtful: boolean;

  constructor(what: string, parts: RunProblemParts) {
    super('run_problem', `${what}: refused with status ${parts.status}, ${parts.problem}.`, {
      retryable: retryableStatus.has(parts.status),
    });
    this.status = parts.status;
    this.problem = parts.problem;
    this.title = parts.title;
    this.detail = parts.detail;
    this.requestId = parts.requestId;
    this.fields = parts.fields ?? [];
    this.retryAfterMs = parts.retryAfterMs;
    this.doubtful = parts.doubtful ?? false;
  }
}

/** An error answer as it was read. */
export interface ErrorAnswer {
  readonly status: number;
  /** The body's text; empty where it was not JSON or too long to be read. */
  readonly text: string;
  readonly retryAfterMs: number | undefined;
  /** What was sent as a credential: a service that repeats it does not get it into an error. */
  readonly secrets: readonly string[];
  /** See {@link RunProblem}. */
  readonly doubtful: boolean;
}

/** The error of an answer that is none of success: `job_not_found`, or a {@link RunProblem}. */
export function problemOf(what: string, answer: ErrorAnswer): SkillRunError {
  const { status, retryAfterMs, doubtful } = answer;
  const parsed = parseJson(answer.text, {
    maxLength: answer.text.length,
    forbidden: forbiddenResultKeys,
  });
  const read = parsed.ok ? problemSchema.safeParse(parsed.value) : undefined;
  const body = read?.success ? read.data : undefined;
  const clean = (text: string | undefined, max: number): string | undefined =>
    text === undefined ? undefined : bounded(redacted(text, answer.secrets), max);
  const code = clean(body?.code, 128);
  const known = code !== undefined && /^[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*$/.test(code);
  if (status === 404 && code === 'run.job_not_found') {
    return new SkillRunError('job_not_found', `${what}: Run has no such job for this person and project.`);
  }
  return new RunProblem(what, {
    status,
    problem: known ? code : `http.${status}`,
    title: clean(body?.title, 256),
    detail: clean(body?.detail, 1024),
    requestId: clean(body?.request_id, 128),
    fields: (body?.errors ?? []).slice(0, 16).map((field) => ({
      path: clean(field.path, 256) ?? '',
      message: clean(field.message, 256) ?? '',
    })),
    retryAfterMs,
    doubtful,
  });
}

// Before it is cut to length: half a token is no longer found.
function redacted(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '[credential]'), text);
}

function bounded(text: string, max: number): string {
  const shown = visible(text.slice(0, max + 1), { keepLines: true });
  return (shown.length <= max ? shown : `${shown.slice(0, max - 1)}…`).toWellFormed();
}
