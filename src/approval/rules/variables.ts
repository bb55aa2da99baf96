import type { Json, JsonObject } from '../../skill/json.ts';
import type { FirstPlace, PolicyContext, PolicyStep } from '../policy.ts';

/**
 * Everything that an expression can name, with its CEL type: facts of the gateway and the registry, and the
 * arguments. A skill's own words are not among them. Where there is no publisher or agent, the text is empty.
 */
export const variables = {
  skill: {
    slug: 'string',
    version: 'string',
    hash: 'string',
    publisher: 'string',
    verdict: 'string',
    fails: 'int',
    flags: 'int',
  },
  tool: { name: 'string', wall_ms: 'int', mem_bytes: 'int' },
  net: 'string',
  args: 'map<string, dyn>',
  agent: { id: 'string', level: 'string', alone: 'bool' },
  person: 'string',
  project: 'string',
  placement: 'string',
  taint: 'bool',
  count: { turn: 'int', session: 'int', pending: 'int' },
} as const satisfies Record<string, string | Record<string, string>>;

type CelValue = string | boolean | number | bigint | null | readonly CelValue[] | Map<string, CelValue>;
type Named = keyof typeof variables;
type Values = {
  readonly [Name in Named]: (typeof variables)[Name] extends string
    ? CelValue
    : { readonly [Field in keyof (typeof variables)[Name]]: CelValue };
};

/** The values of one step. Maps and not objects: a key named `constructor` is a key like any other. */
export function valuesOf(
  { run, owner }: PolicyStep,
  { level, alone, taint, count, skill }: PolicyContext,
  placement: FirstPlace,
): ReadonlyMap<string, unknown> {
  const values: Values = {
    skill: {
      slug: run.slug,
      version: run.version,
      hash: run.hash,
      publisher: skill.publisher ?? '',
      verdict: skill.verdict,
      fails: BigInt(skill.findings.fail),
      flags: BigInt(skill.findings.flag),
    },
    tool: {
      name: run.tool,
      wall_ms: BigInt(run.limits.wall_ms),
      mem_bytes: BigInt(run.limits.mem_bytes),
    },
    net: run.net,
    args: mapOf(run.arguments),
    agent: { id: owner.agent ?? '', level, alone },
    person: owner.subject,
    project: owner.project,
    placement,
    taint,
    count: {
      turn: BigInt(count.turn),
      session: BigInt(count.session),
      pending: BigInt(count.pending),
    },
  };
  return new Map(Object.entries(values));
}

function mapOf(object: JsonObject): Map<string, CelValue> {
  return new Map(Object.entries(object).map(([key, value]) => [key, celValue(value)]));
}

function celValue(value: Json): CelValue {
  if (Array.isArray(value)) return value.map(celValue);
  return typeof value === 'object' && value !== null ? mapOf(value as JsonObject) : (value as CelValue);
}
