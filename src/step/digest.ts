import { canonicalJson, type Json } from '../skill/json.ts';
import { sha256 } from '../skill/sha256.ts';
import type { StepOwner, StepRun } from './record.ts';

/**
 * What is approved: a sha256 over canonical JSON of person, project, agent, skill slug, version and hash, tool,
 * entry, pins, arguments, net and limits. JSON strings are quoted, so no two different tuples give one text.
 * It is over the validated arguments as they are: no default is filled in and key order does not matter.
 */
export function digestOf(owner: StepOwner, run: StepRun): Promise<string> {
  return sha256(
    canonicalJson({
      step: 'skill.run@1',
      owner: { subject: owner.subject, project: owner.project, agent: owner.agent },
      run: {
        slug: run.slug,
        version: run.version,
        hash: run.hash,
        tool: run.tool,
        entry: run.entry,
        pins: run.pins.map(({ name, mediaId, sha256: pin, size }) => ({
          name,
          mediaId,
          sha256: pin,
          size,
        })),
        arguments: run.arguments,
        net: run.net,
        limits: { wall_ms: run.limits.wall_ms, mem_bytes: run.limits.mem_bytes },
      },
    } satisfies Json),
  );
}

/** Equal exactly for replays: the same session, turn, call id and digest. */
export function replayKeyOf(session: string, turn: string, callId: string, digest: string): Promise<string> {
  return sha256(JSON.stringify(['replay@1', session, turn, callId, digest]));
}

/** The line that names a step to a person. */
export function targetOf({
  slug,
  version,
  tool,
  net,
}: Pick<StepRun, 'slug' | 'version' | 'tool' | 'net'>): string {
  return `${slug}@${version} ${tool}${net === 'public' ? ' · internet' : ''}`;
}
