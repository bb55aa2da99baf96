import { SkillRunError } from '../errors.ts';
import { withDeadline } from '../run/deadline.ts';
import { parseListing, type SkillListing } from '../skill/listing.ts';
import { type ProblemReason, type VerifiedSkill, verifyAgain } from '../skill/verify.ts';
import type { StepRecord } from '../step/record.ts';
import type { GatewayContext } from './context.ts';
import { runContext } from './move.ts';
import type { RegistryPort } from './registry-port.ts';

/** Why a skill may not run now, in our own words. */
export interface Unlisted {
  readonly why: 'unlisted' | 'registry-down';
  readonly code: string;
  readonly message: string;
}

const askMs = 10_000;
const dayMs = 86_400_000;
const maxShelved = 1000;

/** What one registry last said of one version, and when it was asked (milliseconds since 1970). */
interface Shelved {
  said?: { readonly listing: SkillListing | null; readonly at: number };
  failedAt?: number;
  asking?: Promise<boolean>;
}

// By the port itself, so that any number of gateways over one registry ask it once.
const shelves = new WeakMap<RegistryPort, Map<string, Shelved>>();

/** Looks again whether the registry still lists a step's skill as it was installed; `undefined` while it does. */
export async function findUnlisted(
  context: GatewayContext,
  { run }: StepRecord,
): Promise<Unlisted | undefined> {
  const { registry, skills, clock } = context;
  const skill = skills.findTool(run.slug, run.version, run.tool)?.skill;
  if (registry === undefined || skill === undefined) return undefined;
  const shelved = shelfOf(registry, skill);
  // A time that is yet to come is no time at which anything was seen.
  const past = (at: number): number => (at <= clock.now() ? at : Number.NEGATIVE_INFINITY);
  const isWithin = (at: number, ms: number): boolean => clock.now() - past(at) <= ms;
  const isSeen = (ms: number): boolean =>
    isWithin(skills.verifiedAt, ms) || (shelved.said !== undefined && isWithin(shelved.said.at, ms));

  let isUp = true;
  if (!isSeen(context.listingMaxAgeMs)) {
    const failed = shelved.failedAt !== undefined && isWithin(shelved.failedAt, askMs);
    isUp = !failed && (await isAnswering(context, registry, skill, shelved));
  }
  const { said } = shelved;
  if (said !== undefined && said.at >= past(skills.verifiedAt)) {
    const reason = await verifyAgain(skill, said.listing);
    if (reason !== undefined)
      return { why: 'unlisted', code: reason, message: `${words(reason)} Nothing ran.` };
  }
  const goesOn = context.registryDown !== 'refuse' && run.net === 'deny' && isSeen(dayMs);
  return isUp || goesOn ? undefined : { why: 'registry-down', code: 'registry-down', message: down };
}

const down =
  'The registry does not answer, so it is not known whether the skill may still run. Nothing ran. Try again later.';

function words(reason: ProblemReason): string {
  switch (reason) {
    case 'retired':
      return 'The registry has retired this version of the skill since it was installed.';
    case 'scan_failed':
      return "The registry's scan has failed this version of the skill since it was installed.";
    case 'scan_unread':
      return "The registry's scan has other findings on this skill than the person acknowledged.";
    default:
      return 'The registry no longer lists this version of the skill as it was installed.';
  }
}

function shelfOf(registry: RegistryPort, { slug, version }: VerifiedSkill): Shelved {
  const shelf = shelves.get(registry) ?? new Map<string, Shelved>();
  shelves.set(registry, shelf);
  const key = JSON.stringify([slug, version]);
  const shelved = shelf.get(key) ?? {};
  shelf.set(key, shelved);
  const oldest = shelf.keys().next();
  if (shelf.size > maxShelved && oldest.done !== true) shelf.delete(oldest.value);
  return shelved;
}

// One request for all gateways that want to know; each of them waits only as long as it is open.
function isAnswering(
  context: GatewayContext,
  registry: RegistryPort,
  skill: VerifiedSkill,
  shelved: Shelved,
): Promise<boolean> {
  shelved.asking ??= request(context, registry, skill, shelved).finally(() => {
    delete shelved.asking;
  });
  const { asking } = shelved;
  const { signal } = runContext(context);
  return withDeadline({ clock: context.clock, ms: askMs, signal, late }, () => asking).catch(
    (error: unknown) => {
      if (context.closing.aborted) throw error;
      return false;
    },
  );
}

async function request(
  { clock, events }: GatewayContext,
  registry: RegistryPort,
  { slug, version }: VerifiedSkill,
  shelved: Shelved,
): Promise<boolean> {
  const at = clock.now();
  try {
    const answer = await withDeadline({ clock, ms: askMs, late }, async (signal) =>
      registry.listing(slug, version, { signal }),
    );
    shelved.said = { listing: readListing(answer), at };
    return true;
  } catch (error) {
    shelved.failedAt = clock.now();
    events.emit('fault', { step: null, error });
    return false;
  }
}

// What is no listing is none: the skill stops.
function readListing(answer: unknown): SkillListing | null {
  try {
    return parseListing(answer);
  } catch {
    return null;
  }
}

function late(): SkillRunError {
  const message = `The registry did not answer within ${askMs} ms. Look after it; skills with network stop.`;
  return new SkillRunError('registry_unavailable', message, { retryable: true });
}
