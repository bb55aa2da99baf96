import { excerpt } from '../text.ts';
import { complement, dot, spaces, writeChar, writeRanges } from './char-set.ts';

/** A pattern that is not taken: the rule, and a message that quotes the pattern's beginning. */
export interface PatternFault {
  readonly ok: false;
  readonly rule:
    | 'pattern-syntax'
    | 'pattern-lookaround'
    | 'pattern-back-reference'
    | 'pattern-unsupported'
    | 'pattern-size';
  readonly message: string;
}

/** A pattern in the linear engine's syntax. */
export type Translated = { readonly ok: true; readonly text: string } | PatternFault;

// Far above what the engine may make of a pattern, and low enough that it costs nothing to find that out.
const maxExpansion = 512;

/** What a pattern's part becomes, and a bound on how many instructions it needs. */
interface Piece {
  text: string;
  size: number;
}

/** A fault that names the pattern, the rule and the remedy. */
export function patternFault(rule: PatternFault['rule'], source: string, what: string): PatternFault {
  return { ok: false, rule, message: `The pattern "${excerpt(source, 200)}" ${what}` };
}

/**
 * Turns an ECMAScript pattern (flag `u`, ECMA-262 22.2.1) into one that the linear engine reads with the same
 * meaning. Every character is written by its number and every group without its name, so that nothing of the
 * author's text reaches the engine's own syntax.
 */
export function translatePattern(source: string): Translated {
  if (!isSyntax(source)) {
    return patternFault(
      'pattern-syntax',
      source,
      'is not an ECMAScript pattern with the flag u. Correct it.',
    );
  }
  // From here on the syntax is known to be right: the walk below only has to tell its parts apart.
  let at = 0;
  let fault: PatternFault | undefined;

  const refuse = (rule: PatternFault['rule'], what: string): void => {
    fault ??= patternFault(rule, source, what);
  };

  const take = (text: string): boolean => {
    if (!source.startsWith(text, at)) return false;
    at += text.length;
    return true;
  };

  const takeChar = (): number => {
    const code = source.codePointAt(at) ?? 0;
    at += code > 0xffff ? 2 : 1;
    return code;
  };

  const takeUntil = (end: string): string => {
    const from = at;
    const to = source.indexOf(end, at);
    at = to === -1 ? source.length : to + 1;
    return source.slice(from, to);
  };

  const takeHex = (digits: number): number => {
    at += digits;
    return Number.parseInt(source.slice(at - digits, at), 16);
  };

  const disjunction = (): Piece => {
    const whole = alternative();
    while (take('|')) {
      const next = alternative();
      whole.text += `|${next.text}`;
      whole.size += next.size + 1;
    }
    if (whole.size > maxExpansion) refuse('pattern-size', 'repeats too much. Use smaller counts.');
    return whole;
  };

  const alternative = (): Piece => {
    const whole = { text: '', size: 0 };
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      const next = quantified(term());
      whole.text += next.text;
      whole.size += next.size;
    }
    return whole;
  };

  const term = (): Piece => {
    if (take('^')) return { text: '\\A', size: 1 };
    if (take('$')) return { text: '\\z', size: 1 };
    if (take('.')) return { text: `[${writeRanges(dot)}]`, size: 1 };
    if (take('(')) return group();
    if (take('[')) return { text: characterClass(), size: 1 };
    if (!take('\\')) return { text: char(takeChar()), size: 1 };
    if (take('b')) return { text: '\\b', size: 1 };
    if (take('B')) return { text: '\\B', size: 1 };
    if (source[at] === 'k' || /[1-9]/.test(source.charAt(at))) {
      refuse(
        'pattern-back-reference',
        'refers back to a group, which cannot be checked in linear time. Write it without.',
      );
    }
    const set = setEscape();
    return { text: set === undefined ? char(charEscape()) : `[${set}]`, size: 1 };
  };

  const group = (): Piece => {
    if (take('?=') || take('?!') || take('?<=') || take('?<!')) {
      refuse(
        'pattern-lookaround',
        'looks around, which cannot be checked in linear time. Write it without (?=, (?!, (?<= and (?<!.',
      );
    } else if (take('?<')) {
      takeUntil('>');
    } else if (!take('?:') && take('?')) {
      refuse('pattern-unsupported', 'changes flags in a group. Write it without.');
    }
    const inside = disjunction();
    at += 1;
    return { text: `(?:${inside.text})`, size: inside.size };
  };

  const quantified = (piece: Piece): Piece => {
    const [min, max] = quantifier();
    if (max === undefined) return piece;
    // Whether it is lazy decides what matches, and never whether anything does.
    take('?');
    const times = max === Infinity ? `{${min},}` : `{${min},${max}}`;
    const size = Math.max(piece.size, 1) * (max === Infinity ? Math.max(min, 1) : max) + 2;
    return { text: `(?:${piece.text})${times}`, size };
  };

  const quantifier = (): [min: number, max?: number] => {
    if (take('*')) return [0, Infinity];
    if (take('+')) return [1, Infinity];
    if (take('?')) return [0, 1];
    if (!take('{')) return [1];
    const [min = '', max] = takeUntil('}').split(',');
    if (max === undefined) return [Number(min), Number(min)];
    return [Number(min), max === '' ? Infinity : Number(max)];
  };

  const characterClass = (): string => {
    const negated = take('^') ? '^' : '';
    let inside = '';
    while (at < source.length && !take(']')) inside += classPart();
    if (inside !== '') return `[${negated}${inside}]`;
    // An empty class matches nothing, and its negation everything; the engine has no such syntax.
    return `[${negated === '' ? '^' : ''}${writeRanges(complement([]))}]`;
  };

  const classPart = (): string => {
    if (take('\\')) {
      if (take('b')) return rangeFrom(0x08);
      return setEscape() ?? rangeFrom(charEscape());
    }
    return rangeFrom(takeChar());
  };

  const rangeFrom = (first: number): string => {
    if (source[at] !== '-' || source[at + 1] === ']') return char(first);
    at += 1;
    if (!take('\\')) return `${char(first)}-${char(takeChar())}`;
    return `${char(first)}-${char(take('b') ? 0x08 : charEscape())}`;
  };

  // The inside of a class: what an escape that stands for many characters stands for.
  const setEscape = (): string | undefined => {
    for (const name of ['d', 'D', 'w', 'W']) if (take(name)) return `\\${name}`;
    if (take('s')) return writeRanges(spaces);
    if (take('S')) return writeRanges(complement(spaces));
    if (take('p{')) return property('p', takeUntil('}'));
    if (take('P{')) return property('P', takeUntil('}'));
    return undefined;
  };

  const property = (sign: 'p' | 'P', text: string): string => {
    const [key = '', value] = text.split('=');
    if (key === 'ASCII') return writeRanges(sign === 'p' ? [[0, 0x7f]] : complement([[0, 0x7f]]));
    if (value !== undefined && !['General_Category', 'gc', 'Script', 'sc'].includes(key)) {
      refuse('pattern-unsupported', 'uses a Unicode property that cannot be checked here. Write it without.');
    }
    return `\\${sign}{${value ?? key}}`;
  };

  const charEscape = (): number => {
    const name = String.fromCodePoint(takeChar());
    const control = controls.get(name);
    if (control !== undefined) return control;
    if (name === 'c') return takeChar() % 32;
    if (name === 'x') return takeHex(2);
    if (name !== 'u') return name.codePointAt(0) ?? 0;
    if (take('{')) return Number.parseInt(takeUntil('}'), 16);
    const first = takeHex(4);
    const second = /^\\u(d[c-f][0-9a-f]{2})/i.exec(source.slice(at, at + 6))?.[1];
    if (first < 0xd800 || first > 0xdbff || second === undefined) return first;
    at += 6;
    return (first - 0xd800) * 0x400 + (Number.parseInt(second, 16) - 0xdc00) + 0x10000;
  };

  const char = (code: number): string => {
    if (code >= 0xd800 && code <= 0xdfff) {
      refuse('pattern-unsupported', 'holds half of a surrogate pair. Write the whole character.');
    }
    return writeChar(code);
  };

  const whole = disjunction();
  if (at !== source.length)
    refuse('pattern-unsupported', 'uses syntax that is not known here. Write it without.');
  return fault ?? { ok: true, text: whole.text };
}

const controls: ReadonlyMap<string, number> = new Map([
  ['f', 0x0c],
  ['n', 0x0a],
  ['r', 0x0d],
  ['t', 0x09],
  ['v', 0x0b],
  ['0', 0x00],
]);

// Constructed to have its syntax checked, and never run.
function isSyntax(source: string): boolean {
  try {
    return new RegExp(source, 'u') !== undefined;
  } catch {
    return false;
  }
}
