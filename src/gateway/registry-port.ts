/** The registry that the skills were installed from. What it answers is verified like any listing. */
export interface RegistryPort {
  /**
   * The listing of a version as it is now, as JSON text or as a value; `undefined` or `null` where there is none
   * any more, and then the skill stops. Rejecting, or no answer within 10 seconds, is a registry that is down.
   */
  listing(slug: string, version: string, options: { signal: AbortSignal }): Promise<unknown>;
}

/**
 * What a registry that is down means for a run: `refuse` refuses all; `no-net-for-a-day` lets tools without
 * network go on for 24 hours after the listing was last seen to hold, and refuses the rest.
 */
export type RegistryDown = 'refuse' | 'no-net-for-a-day';

/** Every {@link RegistryDown}. */
export const registryDowns: readonly RegistryDown[] = ['refuse', 'no-net-for-a-day'];
