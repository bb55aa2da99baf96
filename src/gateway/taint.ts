import type { Json } from '../skill/json.ts';
import { isStepEnd } from '../step/transitions.ts';
import { createNameSet, longestName, namesOf, shortestName } from './names.ts';
import type { Outcome } from './outcome.ts';

/**
 * The text that came out of tools and was handed out here, so that it can be told whether an
 * argument repeats some of it: a run of 17 characters, a short argument, or a name ({@link namesOf}) of either. It
 * knows text as text: what a model rewrote or encoded is not found.
 */
export interface Taint {
  /**
   * Remembers what a tool, a node or Run wrote in an outcome; each step's once.
   *
   * @param session that of the step: a gateway also resumes steps of others
   */
  note(outcome: Outcome, session: string): void;
  /** How many steps of a session that ran have been noted. */
  ranIn(session: string): number;
  /** Whether a key, a string or a number of the arguments repeats what was noted. */
  isIn(args: Json): boolean;
}

/** The most that is remembered, in UTF-16 code units; beyond it, everything counts as repeated. */
const maxText = 262_144;
// A shared run of 17 holds one whole window of 12 that begins at a multiple of 6.
const windowLength = 12;
const stride = 6;
const longLeaf = 17;
const shortestLeaf = 3;
// A short result that is more than words is found whole within another text too, like the names in a longer one.
const isName = (leaf: string): boolean =>
  leaf.length >= shortestName && leaf.length <= longestName && /[^\p{L}\p{M} ]/u.test(leaf);
// Each short leaf is looked for in the whole text; more of them count as repeated without a look.
const maxShortLeaves = 256;

export function createTaint(): Taint {
  const noted = new Set<string>();
  const ran = new Map<string, Set<string>>();
  const windows = new Set<string>();
  const names = createNameSet();
  let text = '';
  let isFull = false;

  function remember(leaf: string): void {
    if (leaf.length < shortestLeaf || isFull) return;
    if (text.length + leaf.length >= maxText) {
      isFull = true;
      return;
    }
    // No normalised leaf holds a line feed, so nothing is found over the border of two.
    text += `\n${leaf}`;
    if (isName(leaf)) names.add(leaf);
    for (const name of namesOf(leaf)) names.add(name);
    for (let at = 0; at + windowLength <= leaf.length; at += stride) {
      windows.add(leaf.slice(at, at + windowLength));
    }
  }

  function repeats(leaf: string): boolean {
    if (leaf.length < longLeaf) return text.includes(leaf) || names.isIn(leaf);
    for (let at = 0; at + windowLength <= leaf.length; at += 1) {
      if (windows.has(leaf.slice(at, at + windowLength))) return true;
    }
    return names.isIn(leaf);
  }

  return {
    note(outcome, session) {
      const { step, detail } = outcome;
      // What ran before and cannot be had here was seen elsewhere: it stays among those that were not noted.
      if (step === undefined || !isStepEnd(step.state) || outcome.status === 'duplicate_call') return;
      if (outcome.executed !== false) ran.set(session, (ran.get(session) ?? new Set()).add(step.id));
      if (noted.has(step.id)) return;
      noted.add(step.id);
      if (detail !== undefined) remember(normalise(detail.reveal()));
      if (outcome.status === 'completed') for (const leaf of leavesOf(outcome.value.reveal())) remember(leaf);
    },
    ranIn: (session) => ran.get(session)?.size ?? 0,
    isIn(args) {
      if (isFull) return true;
      if (text === '') return false;
      const leaves = [...leavesOf(args)].filter((leaf) => leaf.length >= shortestLeaf);
      if (leaves.filter((leaf) => leaf.length < longLeaf).length > maxShortLeaves) return true;
      if (leaves.some(repeats)) return true;
      // The other way round: a name of the arguments, wherever in a result.
      return createNameSet(leaves.flatMap((leaf) => [...namesOf(leaf)])).isIn(text);
    },
  };
}

/** Keys, strings and numbers, normalised, each once. */
function leavesOf(value: Json): Set<string> {
  const leaves = new Set<string>();
  const visit = (part: Json): void => {
    if (typeof part === 'string' || typeof part === 'number') leaves.add(normalise(String(part)));
    else if (Array.isArray(part)) for (const item of part) visit(item);
    else if (typeof part === 'object' && part !== null) {
      for (const [key, item] of Object.entries(part)) {
        leaves.add(normalise(key));
        visit(item);
      }
    }
  };
  visit(value);
  return leaves;
}

// What reads the same is the same: letters of any width and case, spaces of any kind and number. What is not seen
// goes first, as it keeps a letter from its accent; upper case is the one fold that no place in a word changes.
function normalise(text: string): string {
  return text
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]|(?!\s)\p{Cc}/gu, '')
    .normalize('NFKC')
    .toUpperCase()
    .normalize('NFKC')
    .replace(/\s+/g, ' ')
    .trim();
}
