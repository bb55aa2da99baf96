import type * as z from 'zod/mini';
import { quoteName, type SkillIssue } from './issue.ts';
import { pointer } from './pointer.ts';

/** The most issues that are told of one document. */
export const maxIssues = 50;

/** zod's issues as ours: a pointer, a stable rule id and a message that quotes no content. */
export function fromZodIssues(issues: readonly z.core.$ZodIssue[]): SkillIssue[] {
  return issues.flatMap(fromZodIssue).slice(0, maxIssues);
}

function fromZodIssue(issue: z.core.$ZodIssue): SkillIssue[] {
  const path = pointer(issue.path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        path: pointer([...issue.path, key]),
        rule: 'unknown-field',
        message: `The contract has no field ${quoteName(key)} here.`,
      }));
    case 'invalid_type':
      return [{ path, rule: 'type', message: `Must be present and of type ${issue.expected}.` }];
    case 'invalid_value':
      return [
        {
          path,
          rule: 'allowed-value',
          message: `Must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}.`,
        },
      ];
    case 'too_big':
      return [{ path, rule: 'maximum', message: `Must be at most ${issue.maximum} (${issue.origin}).` }];
    case 'too_small':
      return [{ path, rule: 'minimum', message: `Must be at least ${issue.minimum} (${issue.origin}).` }];
    case 'invalid_format':
      return [{ path, rule: 'pattern', message: `Must have the form ${issue.pattern ?? issue.format}.` }];
    case 'custom':
      return [{ path, rule: ruleOf(issue), message: issue.message }];
    default:
      return [{ path, rule: 'shape', message: 'Does not have the shape that the contract states.' }];
  }
}

function ruleOf(issue: z.core.$ZodIssueCustom): string {
  const rule: unknown = issue.params?.rule;
  return typeof rule === 'string' ? rule : 'shape';
}
