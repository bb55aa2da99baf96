import type { Net } from '../skill/caps.ts';
import { sha256 } from '../skill/sha256.ts';
import type { StepRecord } from '../step/record.ts';

/** What an "always allow" covers: one person, project, agent, version, content, tool and network. Nothing else. */
export interface GrantScope {
  readonly subject: string;
  readonly project: string;
  readonly agent: string | null;
  readonly slug: string;
  readonly version: string;
  readonly hash: string;
  readonly tool: string;
  readonly net: Net;
}

/** An "always allow" that a person made. It lasts until it is revoked. */
export interface Grant {
  /** Of its shape; absent in those of before there was the field. */
  readonly schema?: 1;
  /** `grt_<ULID>`. */
  readonly id: string;
  readonly scope: GrantScope;
  /** sha256 of the scope: the only thing a grant is looked up by. */
  readonly key: string;
  /** The person who made it. */
  readonly by: string;
  /** The step whose approval it came with. */
  readonly step: string;
  /** RFC 3339. */
  readonly createdAt: string;
}

/** The scope that "always" would have for this step. */
export function grantScopeOf({ owner, run }: Pick<StepRecord, 'owner' | 'run'>): GrantScope {
  const { slug, version, hash, tool, net } = run;
  return {
    subject: owner.subject,
    project: owner.project,
    agent: owner.agent,
    slug,
    version,
    hash,
    tool,
    net,
  };
}

/** The key of a scope. Every part is a JSON string in a fixed place, so no two scopes share a key. */
export function grantKeyOf(scope: GrantScope): Promise<string> {
  const { subject, project, agent, slug, version, hash, tool, net } = scope;
  return sha256(JSON.stringify(['grant@1', subject, project, agent, slug, version, hash, tool, net]));
}
