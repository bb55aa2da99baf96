/** A tool call of a scripted turn; `arguments` is the raw text a model would write, or an object. */
export interface ScriptedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string | Readonly<Record<string, unknown>>;
}

/** What the model says in one turn: text, or tool calls. */
export type ScriptedTurn = string | readonly ScriptedCall[];

/** A model that says what it was told to, in order. */
export interface ScriptedModel {
  /** The next turn. Throws when the script is over: a harness that asks too often is found out. */
  next(messages: readonly unknown[]): ScriptedTurn;
  /** The messages of each call of `next`, as they were then. */
  readonly seen: readonly (readonly unknown[])[];
  /** Throws when turns are left that nobody asked for. */
  done(): void;
}

/** Makes a {@link ScriptedModel}. */
export function createScriptedModel(turns: readonly ScriptedTurn[]): ScriptedModel {
  const seen: (readonly unknown[])[] = [];
  return {
    next(messages) {
      seen.push(structuredClone(messages));
      const turn = turns[seen.length - 1];
      if (turn === undefined) {
        throw new Error(`The scripted model has ${turns.length} turns; it was asked for one more.`);
      }
      return turn;
    },
    seen,
    done() {
      if (seen.length < turns.length) {
        throw new Error(`The scripted model has ${turns.length} turns; ${seen.length} were asked for.`);
      }
    },
  };
}
