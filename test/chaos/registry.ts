import type { Clock } from '../../src/clock.ts';
import { readySkills } from '../../src/testing/skills.ts';

/** What the registry says of every skill: as it was installed, that it is retired, or nothing at all. */
export type RegistryState = 'listed' | 'retired' | 'down';

/** From `at` on, on the true clock. */
export interface RegistryChange {
  readonly at: number;
  readonly state: RegistryState;
}

/** The registry that every process asks. */
export interface Registry {
  /** @throws while it is down */
  listing(slug: string): unknown;
  set(state: RegistryState): void;
  readonly history: readonly RegistryChange[];
}

export function createRegistry(clock: Clock): Registry {
  const history: RegistryChange[] = [{ at: clock.now(), state: 'listed' }];
  return {
    listing(slug) {
      const { state } = history.at(-1) as RegistryChange;
      if (state === 'down') throw new Error('The registry is down on order.');
      const skill = Object.values(readySkills).find(({ document }) => document.slug === slug);
      return { ...skill?.listing, status: state };
    },
    set: (state) => void history.push({ at: clock.now(), state }),
    history,
  };
}
