import { invalidOption } from '../errors.ts';
import { jobErrorCode, jobErrorDetail, nodeName } from '../run/wire-schemas.ts';
import type { MockEnd } from './mock-script.ts';

const ends = ['result', 'fail', 'limit', 'cancelled', 'expired', 'unplaceable', 'hang'];

/**
 * Answers the script, or throws `option_invalid` where a job that follows it would break Run's contract. Its
 * `lie` is not looked at: to break the contract is what that is for.
 */
export function requireScript(script: MockEnd): MockEnd {
  // Wider than its type, for callers without types.
  const end: Record<string, unknown> = { ...script };
  const holds = (name: string, rule: string, isRight: (value: unknown) => boolean): void => {
    if (end[name] !== undefined && !isRight(end[name])) throw invalid(name, rule);
  };
  if (ends.filter((name) => name in end).length !== 1) throw invalid('end', `not one of ${ends.join(', ')}`);
  if ('result' in end && !isJson(end.result)) throw invalid('result', 'not a JSON value');
  if ('fail' in end && !jobErrorCode.safeParse(end.fail).success) {
    throw invalid('fail', 'not a code such as run.job.exit_nonzero');
  }
  if ('hang' in end && end.hang !== 'until-cancel' && end.hang !== 'forever') {
    throw invalid('hang', "neither 'until-cancel' nor 'forever'");
  }
  holds('detail', 'not a text of at most 1024 characters', isOf(jobErrorDetail));
  holds('exitCode', 'not a whole number', Number.isSafeInteger);
  holds('node', 'not a text of 1 to 128 characters', isOf(nodeName));
  holds('wallMs', 'not a whole number of milliseconds', (ms) => Number.isSafeInteger(ms) && Number(ms) >= 0);
  return script;
}

function isOf(schema: { safeParse(value: unknown): { success: boolean } }): (value: unknown) => boolean {
  return (value) => schema.safeParse(value).success;
}

function isJson(value: unknown): boolean {
  try {
    return JSON.stringify(value) !== undefined;
  } catch {
    return false;
  }
}

function invalid(name: string, rule: string): Error {
  return invalidOption(`script.${name}`, rule, 'Run knows no such job. To send one all the same, use `lie`.');
}
