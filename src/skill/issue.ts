import { SkillRunError } from '../errors.ts';
import { excerpt } from './text.ts';

/** One rule that a document or a listing broke. */
export interface SkillIssue {
  /** JSON pointer to the place, such as `/tools/0/entry`; `""` is the whole. */
  readonly path: string;
  /** The rule's stable id, such as `unknown-field`. */
  readonly rule: string;
  /** A sentence for a person. It quotes nothing but names, with invisible characters made visible. */
  readonly message: string;
}

/** A skill document or listing that was not taken. Code `skill_invalid`. */
export class SkillInvalid extends SkillRunError {
  /** Every rule that was broken, at most 50, in the order of the document. */
  readonly issues: readonly SkillIssue[];

  constructor(what: string, issues: readonly SkillIssue[]) {
    const first = issues[0];
    const more = issues.length > 1 ? ` (and ${issues.length - 1} more)` : '';
    super(
      'skill_invalid',
      `${what} is invalid at "${first?.path ?? ''}": ${first?.message ?? 'no reason given'}${more} Install it as its author published it, or report it to them.`,
    );
    this.issues = issues;
  }
}

/** A name that a stranger wrote, fit to stand in a message: bounded, invisible characters made visible. */
export function quoteName(name: string): string {
  return `"${excerpt(name)}"`;
}
