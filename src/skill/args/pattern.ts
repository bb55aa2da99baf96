import { type PatternFault, patternFault, translatePattern } from './translate.ts';

/** Most instructions a pattern may compile to. */
const maxProgramSize = 128;
/** Longest string that is matched against a pattern, in UTF-16 code units. */
export const maxPatternInput = 4096;

// The engine keeps what it learnt while matching, up to 8 MiB a pattern. With less it is as fast on common
// patterns, faster on hostile ones, and a hundred hostile patterns cannot fill the memory.
const cacheBytes = 262_144;

/** A pattern ready to be searched for, in time linear in the text's length, or why there is none. */
export type CompiledPattern = { readonly ok: true; readonly test: (text: string) => boolean } | PatternFault;

/**
 * Compiles an ECMAScript pattern (flag `u`) for the linear engine, which is loaded on first need.
 * The author's pattern is never executed by the engine of the language, which can take exponential time.
 */
export async function compilePattern(source: string): Promise<CompiledPattern> {
  const translated = translatePattern(source);
  if (!translated.ok) return translated;
  const { RE2JS } = await import('re2js');
  try {
    const compiled = RE2JS.compile(translated.text);
    if (compiled.programSize() > maxProgramSize) {
      return patternFault(
        'pattern-size',
        source,
        `compiles to more than ${maxProgramSize} instructions. Use smaller counts, or maxLength for a length.`,
      );
    }
    const { dfa } = compiled.re2();
    dfa.stateBudget = cacheBytes;
    dfa.memBudget = cacheBytes;
    return { ok: true, test: (text) => compiled.test(text) };
  } catch {
    return patternFault(
      'pattern-unsupported',
      source,
      'cannot be checked in linear time. Write a simpler one.',
    );
  }
}
