export type { FirstPlace, Policy, PolicyAnswer, PolicyContext, PolicyStep } from '../policy.ts';
export { compileRules, type Explanation, type RuleOptions, type RulePolicy } from './compile.ts';
export type { PolicyRule } from './rule.ts';
export { type Simulated, simulate } from './simulate.ts';
