import { deepFreeze, type Json } from '../skill/json.ts';

/** Results of this process, by step: a replay answers from here before it asks the Run again. */
export interface Values {
  get(step: string): { readonly value: Json } | undefined;
  set(step: string, value: Json): void;
}

const most = 64;

/** Keeps the last 64 results (each at most 64 KiB, as every result is), frozen: every replay gets the same. */
export function createValues(): Values {
  const kept = new Map<string, { value: Json }>();
  return {
    get: (step) => kept.get(step),
    set(step, value) {
      kept.delete(step);
      kept.set(step, { value: deepFreeze(value) });
      const oldest = kept.keys().next();
      if (kept.size > most && oldest.done !== true) kept.delete(oldest.value);
    },
  };
}
