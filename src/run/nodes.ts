import { aborted, type Clock, systemClock } from '../clock.ts';
import { invalidOption } from '../errors.ts';
import { readAnswer } from './body.ts';
import { withDeadline } from './deadline.ts';
import { createSend, type HttpOptions } from './http.ts';
import { offersSchema, type SkillOffer, skillOffer } from './offers.ts';
import { requireBaseUrl, requireWhole } from './options.ts';
import type { Person, RunContext, RunNode } from './service.ts';
import { RunUnreachable } from './unreachable.ts';

/** The port that knows which nodes run skills for a person. */
export interface NodeDirectory {
  /**
   * `fresh` reads again instead of answering from memory. Rejects when any part of the answer could not
   * be had: an unknown own tier must not look like an empty one, or the pool would run what belongs at home.
   */
  nodes(context: RunContext, options?: { fresh?: boolean }): Promise<readonly RunNode[]>;
}

/** How the platform's offers are read. */
export interface NodeDirectoryOptions extends HttpOptions {
  /** https, or http on loopback. Default `https://openvibe.network`. */
  baseUrl?: string | undefined;
  /**
   * The ids of the nodes that the platform confirmed as this person's; offers carry no owner. Asked on
   * every look-up and never kept. When it throws, no node is answered at all.
   */
  ownNodes: (person: Person) => Promise<readonly string[]> | readonly string[];
  /** How long one read of the offers serves everybody, in milliseconds, 0 to 3600000. Default 30000. */
  maxAgeMs?: number | undefined;
  clock?: Clock | undefined;
}

const maxOffersBytes = 8_388_608;
const ownNodesMs = 10_000;

/** The directory over the offers of the platform's Network. Throws `option_invalid`. */
export function createNodeDirectory(options: NodeDirectoryOptions): NodeDirectory {
  const url = `${requireBaseUrl('baseUrl', options.baseUrl ?? 'https://openvibe.network')}/api/v1/offers?kind=node`;
  const maxAgeMs = requireWhole('maxAgeMs', options.maxAgeMs ?? 30_000, 0, 3_600_000);
  const clock = options.clock ?? systemClock;
  const { ownNodes } = options;
  if (typeof ownNodes !== 'function') {
    throw invalidOption('ownNodes', 'not a function', 'Pass one that answers the person’s node ids.');
  }
  const send = createSend(options, clock);
  const what = 'reading the offers of nodes';
  let kept: { at: number; offers: readonly SkillOffer[] } | undefined;

  const offersNow = async (signal?: AbortSignal): Promise<readonly SkillOffer[]> => {
    const at = clock.now();
    const answer = await send({
      what,
      method: 'GET',
      url,
      accept: 'application/json',
      repeatable: true,
      signal,
      read: (response) => readAnswer(what, response, offersSchema, maxOffersBytes),
    });
    const offers = answer.offers.map(skillOffer).filter((offer) => offer !== undefined);
    if (kept === undefined || kept.at <= at) kept = { at, offers };
    return offers;
  };

  // A clock that went back makes everything old.
  const recent = (): readonly SkillOffer[] | undefined => {
    if (kept === undefined) return undefined;
    const age = clock.now() - kept.at;
    return age >= 0 && age <= maxAgeMs ? kept.offers : undefined;
  };

  const own = async (person: Person, signal?: AbortSignal): Promise<ReadonlySet<string>> => {
    const late = (): Error => new RunUnreachable('ownNodes()', 0, `no answer within ${ownNodesMs} ms`);
    const ids: unknown = await withDeadline({ clock, ms: ownNodesMs, signal, late }, async () => {
      try {
        return await ownNodes(person);
      } catch {
        // Its error may hold a credential of the host's.
        throw new RunUnreachable('ownNodes()', 0, 'failed, so own nodes are unknown and no others are used');
      }
    });
    if (Array.isArray(ids) && ids.every((id) => typeof id === 'string')) return new Set<string>(ids);
    throw invalidOption('ownNodes()', 'not an array of node ids', 'Return [] for a person without nodes.');
  };

  return {
    async nodes({ person, signal }, { fresh = false } = {}) {
      if (signal?.aborted) throw aborted(signal);
      const remembered = fresh ? undefined : recent();
      const [offers, mine] = await Promise.all([remembered ?? offersNow(signal), own(person, signal)]);
      return offers.flatMap(({ trust, ...offer }): RunNode[] => {
        if (trust === 'first-party') return [{ ...offer, tier: 'pool' }];
        return mine.has(offer.node) ? [{ ...offer, tier: 'own' }] : [];
      });
    },
  };
}
