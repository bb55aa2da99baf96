import type { StepRecord } from '../../src/step/record.ts';
import { isStepEnd } from '../../src/step/transitions.ts';
import { createMemoryStore } from '../../src/store/memory.ts';
import type { StorePort } from '../../src/store/port.ts';
import { createMockRun } from '../../src/testing/mock-run.ts';

// Each breaks one promise that the library stands on, so that chaos can be seen to find it.

/** A store that looks at nothing before it writes: the last update stands, and each call is a new one. */
export function withoutCompareAndSet(): StorePort {
  const store = createMemoryStore();
  const last = new Map<string, StepRecord>();
  const replays = new Map<string, string>();
  const now = (step: StepRecord | undefined): StepRecord | undefined => step && (last.get(step.id) ?? step);
  return {
    ...store,
    steps: {
      ...store.steps,
      create: async (step) => {
        const { replayKey } = step;
        await store.steps.create({ ...step, replayKey: null });
        if (replayKey !== null) replays.set(replayKey, step.id);
        return { created: true, step };
      },
      async update(step) {
        last.set(step.id, step);
        return true;
      },
      get: async (id) => now(await store.steps.get(id)),
      findReplay: async (key) => now(await store.steps.get(replays.get(key) ?? '')),
      open: async (scope) =>
        (await store.steps.open(scope))
          .map((step) => now(step) as StepRecord)
          .filter(({ state }) => !isStepEnd(state)),
    },
  };
}

/** A store that does not find the steps that are to be gone on with. */
export function withoutOpenSteps(): StorePort {
  const store = createMemoryStore();
  return { ...store, steps: { ...store.steps, open: async () => [] } };
}

/** A store that forgets one update in four, and answers that it did not. */
export function forgetful(): StorePort {
  const store = createMemoryStore();
  let updates = 0;
  return {
    ...store,
    steps: {
      ...store.steps,
      async update(step) {
        updates += 1;
        return updates % 4 === 0 || store.steps.update(step);
      },
    },
  };
}

/** A store that forgets what agents have spent. */
export function withoutCharges(): StorePort {
  const store = createMemoryStore();
  const put: StorePort['allowance']['put'] = (record) => store.allowance.put({ ...record, spent: 0 });
  return { ...store, allowance: { ...store.allowance, put } };
}

/** A Run that makes a new job of every submit, whatever its key. */
export const withoutKeys: typeof createMockRun = (options) => {
  const mock = createMockRun(options);
  let submits = 0;
  return {
    ...mock,
    async fetch(input, init) {
      const request = new Request(input, init);
      if (request.url.endsWith('/stream')) return mock.fetch(request);
      submits += 1;
      const text = (await request.text()).replace(/"(skill\.run:[^"]+)"/, `"$1.${submits}"`);
      const { url, method, headers, signal } = request;
      const answer = await mock.fetch(url, { method, headers, signal, ...(text !== '' && { body: text }) });
      const told = (await answer.text()).replaceAll(/"(skill\.run:[^".]+)\.\d+"/g, '"$1"');
      return new Response(told, answer);
    },
  };
};
