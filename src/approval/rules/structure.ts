import type { ASTNode } from '@marcbachmann/cel-js';
import { quoteName } from '../../skill/issue.ts';
import { variables } from './variables.ts';

/** What is wrong with an expression, and where in it (from 0). */
export interface ExpressionFault {
  readonly at: number;
  readonly what: string;
}

/** What an expression was found to use. */
export interface Used {
  readonly variables: ReadonlySet<string>;
  /** The calls of `matches`, with their patterns. */
  readonly patterns: readonly { readonly node: ASTNode; readonly pattern: string }[];
  /** The calls of `all`, `exists`, `exists_one` and `filter`. */
  readonly loops: readonly ASTNode[];
}

const functions = ['has', 'size', 'int', 'double', 'string'];
const methods = ['contains', 'startsWith', 'endsWith', 'matches', 'size', 'lowerAscii', 'upperAscii'];
const loopMethods = ['all', 'exists', 'exists_one', 'filter'];

/** Inside of a loop: the name that stands for the element. */
type Loop = string | undefined;

type Fault = ExpressionFault | undefined;

/**
 * Holds an expression to what takes time linear in the arguments, and to the declared names. A loop looks at
 * one element at a time, by itself: no loop in it, and no `args`. Nothing can grow what it is given but by
 * adding, and what is looked for in a text is not itself of the arguments.
 */
export function checkStructure(root: ASTNode): ExpressionFault | Used {
  const used = new Set<string>();
  const patterns: { node: ASTNode; pattern: string }[] = [];
  const loops: ASTNode[] = [];

  function each(nodes: readonly ASTNode[], loop: Loop): Fault {
    for (const node of nodes) {
      const fault = visit(node, loop);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }

  function visit(node: ASTNode, loop: Loop): Fault {
    switch (node.op) {
      case 'value':
        return undefined;
      case 'id':
        return name(node, node.args, loop);
      case '.':
        return field(node, node.args, loop);
      case 'call':
        return functions.includes(node.args[0])
          ? each(node.args[1], loop)
          : unknown(node, 'function', node.args[0], functions);
      case 'rcall':
        return method(node, node.args, loop);
      case '[?]':
      case '.?':
        return refuse(node, 'uses syntax that a policy has no use of.');
      default:
        return each(childrenOf(node.args), loop);
    }
  }

  function name(node: ASTNode, id: string, loop: Loop): Fault {
    if (id === loop) return undefined;
    const type = typeOf(id);
    if (type === undefined) return unknown(node, 'variable', id, Object.keys(variables));
    if (typeof type !== 'string') {
      return refuse(node, `names ${quoteName(id)}, of which only a field can be used.`);
    }
    if (id === 'args' && loop !== undefined) {
      return refuse(node, `names args in a loop, which is to look at ${quoteName(loop)} alone.`);
    }
    used.add(id);
    return undefined;
  }

  function field(node: ASTNode, [of, key]: readonly [ASTNode, string], loop: Loop): Fault {
    const type = of.op === 'id' && of.args !== loop ? typeOf(of.args) : undefined;
    if (typeof type !== 'object') return visit(of, loop);
    if (Object.hasOwn(type, key)) return undefined;
    const known = Object.keys(type).map((one) => `${of.args}.${one}`);
    return unknown(node, 'variable', `${of.args}.${key}`, known);
  }

  function method(
    node: ASTNode,
    [called, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
    loop: Loop,
  ): Fault {
    const fault = visit(receiver, loop);
    if (fault !== undefined) return fault;
    if (loopMethods.includes(called)) return over(node, args, loop);
    if (!methods.includes(called)) return unknown(node, 'method', called, [...methods, ...loopMethods]);
    const needle = args[0];
    if (called === 'matches') {
      if (needle?.op !== 'value' || typeof needle.args !== 'string') {
        return refuse(node, 'takes for matches another pattern than one written out.');
      }
      patterns.push({ node, pattern: needle.args });
    }
    // Two long texts of a stranger's choice can take the product of their lengths.
    if (called === 'contains' && needle !== undefined && isOfArguments(needle, loop)) {
      return refuse(needle, 'looks with contains for a text of the arguments.');
    }
    return each(args, loop);
  }

  function over(node: ASTNode, [element, ...rest]: readonly ASTNode[], loop: Loop): Fault {
    if (loop !== undefined) return refuse(node, 'has a loop in a loop.');
    if (element?.op !== 'id' || typeOf(element.args) !== undefined) {
      return refuse(element ?? node, 'gives the element of a loop no name of its own.');
    }
    loops.push(node);
    return each(rest, element.args);
  }

  return visit(root, undefined) ?? { variables: used, patterns, loops };
}

function refuse(node: ASTNode, what: string): ExpressionFault {
  return { at: node.start, what };
}

function unknown(node: ASTNode, kind: string, given: string, known: readonly string[]): ExpressionFault {
  return refuse(node, `uses the unknown ${kind} ${quoteName(given)}; there are ${known.join(', ')}.`);
}

function typeOf(id: string): string | object | undefined {
  return Object.hasOwn(variables, id) ? variables[id as keyof typeof variables] : undefined;
}

function isOfArguments(node: ASTNode, loop: Loop): boolean {
  if (node.op === 'id') return node.args === 'args' || node.args === loop;
  return childrenOf(node.args).some((child) => isOfArguments(child, loop));
}

function childrenOf(args: unknown): ASTNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf);
  return typeof args === 'object' && args !== null && 'op' in args ? [args as ASTNode] : [];
}
