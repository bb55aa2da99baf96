import { SkillRunError } from '../errors.ts';
import { readStep } from '../step/read.ts';
import type { StepRecord } from '../step/record.ts';
import type { StorePort } from './port.ts';
import { readAllowance, readEntry, readGrant } from './read.ts';

/**
 * A store of the host's whose answers are looked at before anything is done on the strength of them: each is a
 * record that this version knows, and the one that was asked for. Older records are brought up to date.
 *
 * @returns a store whose methods throw besides `step_schema_unknown` and `store_schema_unknown` for what a newer
 *   version wrote, `step_invalid` and `store_invalid` for what is no record or is another one
 */
export function checkedStore({ durable, steps, grants, audit, allowance }: StorePort): StorePort {
  return {
    durable,
    steps: {
      async create(step) {
        const answer = await steps.create(step);
        const found = readStep(answer.step);
        // With `created` it is the step itself; else the one whose replay it is.
        const same = answer.created === true ? found.id === step.id : found.replayKey === step.replayKey;
        return { created: answer.created === true, step: asked(same, found) };
      },
      get: async (id) => known(await steps.get(id), readStep, (step) => step.id === id),
      findReplay: async (key) =>
        known(await steps.findReplay(key), readStep, ({ replayKey }) => replayKey === key),
      update: async (step) => (await steps.update(step)) === true,
      open: async (scope) =>
        (await steps.open(scope)).map((one) => {
          const step: StepRecord = readStep(one);
          return asked(isOf(step.owner, scope), step);
        }),
      count: (query) => steps.count(query),
    },
    grants: {
      async put(grant) {
        const stored = readGrant(await grants.put(grant));
        return asked(stored.key === grant.key, stored);
      },
      find: async (key) => known(await grants.find(key), readGrant, (grant) => grant.key === key),
      list: async (scope) =>
        (await grants.list(scope)).map((one) => {
          const grant = readGrant(one);
          return asked(isOf(grant.scope, scope), grant);
        }),
      remove: async (id, scope) => (await grants.remove(id, scope)) === true,
    },
    audit: {
      head: async (scope) => known(await audit.head(scope), readEntry, () => true),
      append: async (scope, entry) => (await audit.append(scope, entry)) === true,
      list: async (scope, page) => (await audit.list(scope, page)).map(readEntry),
    },
    allowance: {
      get: async (key) => known(await allowance.get(key), readAllowance, (record) => record.key === key),
      put: async (record) => (await allowance.put(record)) === true,
    },
  };
}

function known<T>(value: unknown, read: (value: unknown) => T, isIt: (value: T) => boolean): T | undefined {
  if (value === undefined || value === null) return undefined;
  const record = read(value);
  return asked(isIt(record), record);
}

function asked<T>(isIt: boolean, record: T): T {
  if (isIt) return record;
  throw new SkillRunError(
    'store_invalid',
    'The store answered another record than the one that was asked for. Mend the store; nothing was run on the strength of it.',
  );
}

function isOf(
  one: { readonly subject: string; readonly project: string },
  scope: { readonly subject: string; readonly project: string },
): boolean {
  return one.subject === scope.subject && one.project === scope.project;
}
