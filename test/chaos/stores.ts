import { createMemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';

/** The stores that schedules are played over. */
export const storeNames = ['memory'] as const;

export type StoreName = (typeof storeNames)[number];

/** A store for many schedules, one after the other. */
export interface ChaosStore extends AsyncDisposable {
  /** The store for the next schedule. */
  next(): StorePort;
}

/** Opens a store that is empty, or whose records are of others. */
export async function openStore(_name: StoreName): Promise<ChaosStore> {
  return { next: createMemoryStore, [Symbol.asyncDispose]: async () => {} };
}
