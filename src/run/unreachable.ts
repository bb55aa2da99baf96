import { SkillRunError } from '../errors.ts';

/**
 * No answer came: code `run_unreachable`. What it is about may still happen, or be running, unless
 * `sent` is 0. It has no cause: what a fetch throws may hold the request, and with it the token.
 */
export class RunUnreachable extends SkillRunError {
  /** How many requests were sent; 0 says that the service saw nothing of this call. */
  readonly sent: number;

  constructor(what: string, sent: number, why: string) {
    const doubt = sent === 0 ? 'Nothing was sent' : `Sent ${sent} times; what was asked may still happen`;
    super('run_unreachable', `${what}: ${why}. ${doubt}.`, { retryable: true });
    this.sent = sent;
  }
}
