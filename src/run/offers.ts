import * as z from 'zod/mini';
import { type Net, nets } from '../skill/caps.ts';
import type { Json } from '../skill/json.ts';
import { visible } from '../skill/text.ts';
import { runnerArtifact } from './wire.ts';

const short = z.string().check(z.minLength(1), z.maxLength(128));

const offerSchema = z.object({
  kind: z.literal('node'),
  node_id: short,
  region: z.optional(z.nullable(z.string())),
  trust: z.string(),
  capabilities: z.array(z.string()),
  health: z.object({ status: z.string() }),
});

/** The answer to `GET /api/v1/offers?kind=node`; each offer is read by itself. */
export const offersSchema = z.object({ offers: z.array(z.custom<Json>()) });

/** A node that offers to run skills. */
export interface SkillOffer {
  readonly node: string;
  readonly trust: 'user-owned' | 'first-party';
  readonly nets: readonly Net[];
  /** The region, for the person, where the offer names one. */
  readonly detail?: string;
}

/** The capabilities of a node that runs skills (ours, from ADR-060). */
export const runnerCapabilities = [
  'worker:function',
  `function:${runnerArtifact.name}-${runnerArtifact.version}`,
] as const;

/**
 * An offer as one of a node that runs skills, or `undefined`: the runner and its worker, up or
 * degraded, of a trust that a tier is made of, its networks exactly as it lists them.
 */
export function skillOffer(value: Json): SkillOffer | undefined {
  const read = offerSchema.safeParse(value);
  if (!read.success) return undefined;
  const { node_id: node, trust, capabilities, health, region } = read.data;
  if (trust !== 'user-owned' && trust !== 'first-party') return undefined;
  if (health.status !== 'up' && health.status !== 'degraded') return undefined;
  if (!runnerCapabilities.every((capability) => capabilities.includes(capability))) return undefined;
  const held = nets.filter((net) => capabilities.includes(`egress:${net === 'deny' ? 'none' : net}`));
  return { node, trust, nets: held, ...(region ? { detail: visible(region.slice(0, 64)) } : {}) };
}
