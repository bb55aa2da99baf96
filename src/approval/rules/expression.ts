import { type ASTNode, Environment } from '@marcbachmann/cel-js';
import { compilePattern, maxPatternInput } from '../../skill/args/pattern.ts';
import { excerpt } from '../../skill/text.ts';
import { checkStructure, type ExpressionFault } from './structure.ts';
import { variables } from './variables.ts';

/** A compiled `when`. */
export interface Expression {
  /** Whether it asks where the step would run. */
  readonly usesPlacement: boolean;
  /**
   * Whether it holds; `undefined` when it cannot be evaluated. Never throws, never says why.
   *
   * @param isInTime looked at in each step of a loop and each match: once it says no, what comes out means nothing
   */
  holds(values: ReadonlyMap<string, unknown>, isInTime: () => boolean): boolean | undefined;
}

/** Compiles the expressions of one policy. */
export type Compile = (source: string) => Promise<Expression | ExpressionFault>;

/** What stands in the place of CEL's `matches`, which would run a stranger's text on an exponential engine. */
const linearMatches = 'matchesInLinearTime';

/** A parsed loop: what the library's types do not tell of it. */
interface ParsedLoop {
  readonly meta: { readonly alternate: { readonly args: { condition?: (found: unknown) => boolean } } };
}

const limits = { maxAstNodes: 250, maxDepth: 32, maxListElements: 100, maxMapEntries: 100 };

/** A compiler with the declared variables. Nothing in it generates code. */
export function createCompiler(): Compile {
  const tests = new Map<string, (text: string) => boolean>();
  const environment = new Environment({ limits });
  for (const [name, type] of Object.entries(variables)) {
    if (typeof type === 'string') environment.registerVariable(name, type);
    else environment.registerVariable(name, { schema: type });
  }
  // Of the one evaluation that goes on: there are never two, as each is in one piece.
  let stillInTime = (): boolean => true;
  const match = (text: string, pattern: string): boolean => {
    const test = tests.get(pattern);
    if (test === undefined || text.length > maxPatternInput || !stillInTime()) throw new RangeError();
    return test(text);
  };
  environment.registerFunction(`string.${linearMatches}(string): bool`, match, { async: false });

  return async (source) => {
    const parsed = parse(environment, source);
    if (!('check' in parsed)) return parsed;
    const used = checkStructure(parsed.ast);
    if ('at' in used) return used;
    for (const { node, pattern } of used.patterns) {
      const compiled = await compilePattern(pattern);
      if (!compiled.ok)
        return { at: node.start, what: `has a pattern that is not taken. ${compiled.message}` };
      tests.set(pattern, compiled.test);
      rename(node);
    }
    for (const node of used.loops) stopWhenLate(node, () => stillInTime());
    const { valid, type, error } = parsed.check();
    if (!valid) return faultOf(error);
    if (type !== 'bool') return { at: 0, what: `gives a value of the type ${type}, and has to give a bool.` };
    return {
      usesPlacement: used.variables.has('placement'),
      holds(values, isInTime) {
        stillInTime = isInTime;
        try {
          const value: unknown = parsed(values);
          return typeof value === 'boolean' ? value : undefined;
        } catch {
          // The library writes the values that it was given into its errors: none is passed on.
          return undefined;
        }
      },
    };
  };
}

function parse(environment: Environment, source: string) {
  try {
    return environment.parse(source);
  } catch (error) {
    return faultOf(error);
  }
}

// Before the types are checked, and so before a function is chosen by its name.
function rename(node: ASTNode): void {
  (node.args as unknown[])[0] = linearMatches;
}

// The library asks before each step whether to go on, and has its own reasons to end. It throws nothing here: a loop
// takes a step that throws for one that may yet hold, and goes on.
function stopWhenLate(loop: ASTNode, isInTime: () => boolean): void {
  const { args } = (loop as unknown as ParsedLoop).meta.alternate;
  const { condition } = args;
  args.condition = (found) => isInTime() && (condition === undefined || condition(found));
}

// At the load there are no values yet that an error could tell of: only the rule's own text.
function faultOf(error: unknown): ExpressionFault {
  const { summary, range } = error as { summary?: unknown; range?: { start?: unknown } };
  return {
    at: typeof range?.start === 'number' ? range.start : 0,
    what: `cannot be read: ${typeof summary === 'string' ? excerpt(summary, 200) : 'it is no expression'}.`,
  };
}
