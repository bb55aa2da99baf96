import type { JobSpec } from '../link/job-spec.ts';
import { skillCapabilities } from '../link/skill-job.ts';
import type { Trust } from '../run/wire.ts';
import type { Net } from '../skill/caps.ts';
import { nets as allNets } from '../skill/caps.ts';

/** A node of the mock's network. */
export interface MockNode {
  readonly node: string;
  /** `user-owned` is a person's own machine, `first-party` the pool. */
  readonly trust: Trust;
  /** Default: all three. */
  readonly nets?: readonly Net[];
  /** Whether it declares the skill runner. Default `true`. */
  readonly runsSkills?: boolean;
  /** Default `up`; a job is placed on no `down` or `draining` node. */
  readonly health?: 'up' | 'degraded' | 'down' | 'draining';
  /** Default `eu-test`. */
  readonly region?: string;
}

/** One offer as the network lists it. */
export interface MockOffer {
  readonly offer_id: string;
  readonly kind: 'node';
  readonly node_id: string;
  readonly region: string;
  readonly trust: Trust;
  readonly capabilities: readonly string[];
  readonly health: { readonly status: NonNullable<MockNode['health']> };
  readonly pricing: { readonly model: 'per-second' };
  readonly capacity: { readonly workers: number };
  readonly updated_at: string;
}

function capabilitiesOf(node: MockNode): string[] {
  return node.runsSkills === false ? ['worker:function'] : skillCapabilities(node.nets ?? allNets);
}

/** The node's offer. */
export function offerOf(node: MockNode, updatedAt: string): MockOffer {
  return {
    offer_id: `offer-${node.node}`,
    kind: 'node',
    node_id: node.node,
    region: node.region ?? 'eu-test',
    trust: node.trust,
    capabilities: capabilitiesOf(node),
    health: { status: node.health ?? 'up' },
    pricing: { model: 'per-second' },
    capacity: { workers: 1 },
    updated_at: updatedAt,
  };
}

/** Whether the network would put this job on this node. */
export function nodeTakes(node: MockNode, spec: JobSpec): boolean {
  const { trust = ['first-party'], capabilities = [] } = spec.requirements as {
    trust?: string[];
    capabilities?: string[];
  };
  const has = capabilitiesOf(node);
  return (
    node.health !== 'down' &&
    node.health !== 'draining' &&
    trust.includes(node.trust) &&
    [...capabilities, `egress:${spec.egress}`].every((wanted) => has.includes(wanted))
  );
}
