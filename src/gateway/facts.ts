import type { FirstPlace, PolicyContext } from '../approval/policy.ts';
import type { MenuEntry } from '../menu/skill-set.ts';
import type { Json } from '../skill/json.ts';
import { strictVerdict } from '../skill/listing.ts';
import type { SkillFacts, StepFacts, StepRecord } from '../step/record.ts';
import type { GatewayContext } from './context.ts';
import { lookWhere } from './where.ts';

/** What policy is told beside the step, and afterwards what it was told, for the record. */
export interface Gathered {
  readonly told: PolicyContext;
  facts(): StepFacts;
}

/**
 * Gathers what the gateway itself knows of a step that is not stored yet, or is edited.
 *
 * @param pending how many steps of the agent wait for a person
 */
export async function gatherFacts(
  context: GatewayContext,
  step: StepRecord,
  pending: number,
): Promise<Gathered> {
  const { store, scope, level, alone, taint } = context;
  const { session } = step;
  const entry = entryOf(context, step);
  const [inTurn, inSession, ran] = await Promise.all([
    store.steps.count({ scope, session, turn: step.turn }),
    store.steps.count({ scope, session }),
    store.steps.count({ scope, session, ran: true }),
  ]);
  const known = {
    level,
    alone,
    // A result that another process handed out is not known here: then every argument may repeat it.
    taint: ran > taint.ranIn(session) || taint.isIn(written(step, entry)),
    count: Object.freeze({ turn: inTurn, session: inSession, pending }),
    skill: skillFacts(entry),
  };
  let placement: FirstPlace | null = null;
  let look: Promise<FirstPlace> | undefined;
  const told = Object.freeze({
    ...known,
    placement(): Promise<FirstPlace> {
      look ??= firstPlace(context, step).then((first) => {
        placement = first;
        return first;
      });
      return look;
    },
  });
  return { told, facts: () => ({ ...known, policy: context.policy !== undefined, placement }) };
}

function entryOf({ skills }: GatewayContext, { run }: StepRecord): MenuEntry {
  const entry = skills.findTool(run.slug, run.version, run.tool);
  if (entry === undefined) throw new TypeError(`${run.slug}@${run.version} has no tool ${run.tool}.`);
  return entry;
}

// What the model wrote: a name that the tool's schema declares is the skill's.
function written({ run }: StepRecord, { menu }: MenuEntry): Json {
  const declared = menu.inputSchema.properties;
  return Object.entries(run.arguments).map(([key, value]) =>
    Object.hasOwn(declared, key) ? value : [key, value],
  );
}

function skillFacts({ skill: { listing, findings } }: MenuEntry): SkillFacts {
  const flag = findings.filter(({ severity }) => severity === 'flag').length;
  return Object.freeze({
    publisher: listing.publisher?.subject ?? null,
    verdict: strictVerdict(listing),
    findings: Object.freeze({ fail: findings.length - flag, flag }),
  });
}

async function firstPlace(context: GatewayContext, step: StepRecord): Promise<FirstPlace> {
  try {
    return (await lookWhere(context, step)).first;
  } catch (error) {
    context.events.emit('fault', { step: step.id, error });
    return 'unknown';
  }
}
