import { setTimeout as sleep } from 'node:timers/promises';
import type { StorePort } from '../../src/store/port.ts';

/** A database that writes a step over whatever others made of it, and keeps the grants that were revoked. */
export function careless(store: StorePort): StorePort {
  return {
    ...store,
    steps: {
      ...store.steps,
      async update(step) {
        // Long enough for others to read what it decides.
        if (step.state === 'approved') await sleep(150);
        const found = await store.steps.get(step.id);
        // Where somebody is faster between the two, it is written over as well.
        return (
          found === undefined ||
          (await store.steps.update({ ...step, revision: found.revision + 1 })) ||
          this.update(step)
        );
      },
    },
    grants: {
      ...store.grants,
      remove: async (id, scope) => (await store.grants.list(scope)).some((grant) => grant.id === id),
    },
  };
}
