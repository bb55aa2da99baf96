import { isSkillRunError, SkillRunError } from '../errors.ts';
import type { MenuEntry } from '../menu/skill-set.ts';
import type { ArgsError } from '../skill/args/args-error.ts';
import type { ArgsVerdict } from '../skill/args/compile.ts';
import { validArguments } from '../skill/args/read.ts';
import { isWithin, type Limits } from '../skill/caps.ts';
import type { JsonObject } from '../skill/json.ts';
import { visible } from '../skill/text.ts';
import type { StepRun } from '../step/record.ts';
import type { GatewayContext } from './context.ts';
import type { ToolRef } from './options.ts';
import type { CallRef, InvalidArguments, Outcome } from './outcome.ts';

/** A call of the model's. */
export interface ModelCall {
  /** The provider's call id; `""` or absent where it gives none. */
  readonly id?: string;
  /** The menu name. */
  readonly name: string;
  /** The model's raw text, or the parsed object. */
  readonly arguments: unknown;
}

/** What a call comes to: exactly what would run, or the outcome of a call that never becomes a step. */
export type Resolved =
  | { readonly ok: true; readonly entry: MenuEntry; readonly run: StepRun }
  | { readonly ok: false; readonly outcome: Outcome };

/**
 * From a model's call to exactly what would run. Nothing is asked and nothing recorded.
 *
 * @throws `widening_refused` when the host's `narrow` hook widens
 */
export function resolve(context: GatewayContext, args: unknown, ref: CallRef): Resolved {
  const entry = context.skills.find(ref.name);
  if (entry === undefined) return { ok: false, outcome: unknownTool(context, ref) };
  const tool = toolRefOf(entry);
  let valid: ArgsVerdict;
  try {
    valid = transformed(context, entry, tool, args);
  } catch (error) {
    return { ok: false, outcome: hookFailed(context, ref, 'transform', error) };
  }
  if (!valid.ok) return { ok: false, outcome: invalidArguments(context, ref, entry, valid.errors) };
  try {
    return { ok: true, entry, run: runOf(context, entry, valid.value) };
  } catch (error) {
    if (isSkillRunError(error, 'widening_refused')) throw error;
    return { ok: false, outcome: hookFailed(context, ref, 'narrow', error) };
  }
}

/** What would run of a tool of the current skill set, with these arguments. */
export function runOf(context: GatewayContext, { skill, tool }: MenuEntry, args: JsonObject): StepRun {
  const { net, limits } = narrowed(context, toolRefOf({ skill, tool }));
  return {
    slug: skill.slug,
    version: skill.version,
    hash: skill.hash,
    tool: tool.name,
    entry: tool.entry,
    pins: skill.pins.map(({ name, mediaId, sha256, size }) => ({ name, mediaId, sha256, size })),
    arguments: args,
    net,
    limits,
  };
}

function toolRefOf({ skill, tool }: Pick<MenuEntry, 'skill' | 'tool'>): ToolRef {
  return { slug: skill.slug, version: skill.version, tool: tool.name, net: tool.net, limits: tool.limits };
}

function transformed(context: GatewayContext, entry: MenuEntry, tool: ToolRef, args: unknown): ArgsVerdict {
  const first = validArguments(entry.tool.validator, args);
  if (!first.ok || context.transformArguments === undefined) return first;
  const changed = context.transformArguments(structuredClone(first.value) as JsonObject, tool);
  return validArguments(entry.tool.validator, changed);
}

function hookFailed(
  context: GatewayContext,
  call: CallRef,
  hook: 'transform' | 'narrow',
  error: unknown,
): Outcome {
  context.events.emit('fault', { step: null, error });
  const name = hook === 'transform' ? 'transformArguments' : hook;
  const message = `The host's ${name} failed. Nobody was asked and nothing ran.`;
  return {
    status: 'refused',
    call,
    executed: false,
    durable: context.store.durable,
    code: `${hook}-failed`,
    message,
  };
}

function narrowed(context: GatewayContext, tool: ToolRef): Pick<ToolRef, 'net' | 'limits'> {
  const wanted = context.narrow?.(tool);
  if (wanted === undefined) return { net: tool.net, limits: tool.limits };
  const net = wanted.net ?? tool.net;
  const limits: Limits = {
    wall_ms: wanted.limits?.wall_ms ?? tool.limits.wall_ms,
    mem_bytes: wanted.limits?.mem_bytes ?? tool.limits.mem_bytes,
  };
  const fits = (value: number, most: number): boolean =>
    Number.isInteger(value) && value >= 1 && value <= most;
  if (
    !isWithin(net, tool.net) ||
    !fits(limits.wall_ms, tool.limits.wall_ms) ||
    !fits(limits.mem_bytes, tool.limits.mem_bytes)
  ) {
    throw new SkillRunError(
      'widening_refused',
      `narrow: the answer for ${tool.slug}@${tool.version} ${tool.tool} is wider than the tool declares, or no limit at all. It may only narrow net and limits.`,
    );
  }
  return { net, limits };
}

function unknownTool(context: GatewayContext, call: CallRef): Outcome {
  const available = context.skills.menu.tools.map((tool) => tool.name);
  return {
    status: 'unknown_tool',
    call,
    executed: false,
    durable: context.store.durable,
    available,
    message: `There is no tool ${JSON.stringify(visible(call.name.slice(0, 80)))}. Nothing ran.`,
  };
}

function invalidArguments(
  context: GatewayContext,
  call: CallRef,
  entry: MenuEntry,
  errors: readonly ArgsError[],
): InvalidArguments {
  return {
    status: 'invalid_arguments',
    call,
    executed: false,
    durable: context.store.durable,
    errors,
    inputSchema: entry.menu.inputSchema,
    message: "The arguments do not fit the tool's schema. Nobody was asked and nothing ran.",
  };
}
