import { SkillRunError } from '../errors.ts';
import { createEvents, type Events } from '../events.ts';
import type { StepOwner } from '../step/record.ts';
import type { StoreScope } from '../store/port.ts';
import type { GatewayEvents } from './events.ts';
import { createInTurn, type InTurn } from './in-turn.ts';
import type { Settings } from './options.ts';
import { createTaint, type Taint } from './taint.ts';
import type { Values } from './values.ts';
import { createValues } from './values.ts';

/** What every part of one gateway works with. */
export interface GatewayContext extends Settings {
  readonly owner: StepOwner;
  readonly scope: StoreScope;
  readonly events: Events<GatewayEvents>;
  /** Results of steps that ended in this process, for replays. */
  readonly values: Values;
  /** What came out of tools in this session. */
  readonly taint: Taint;
  /** Fires when the gateway closes: waiting ends, records stay as they are. */
  readonly closing: AbortSignal;
  /** One audit entry of this gateway after another: so its sink hears of them in their order. */
  readonly auditInTurn: InTurn;
  /** One new step of this gateway after another: so each counts those before it. */
  readonly openInTurn: InTurn;
  /** How often in a row this gateway was too late with a step's next revision, by the step's id. */
  readonly conflicts: Map<string, number>;
  /** Told when a step may have changed, by its id. */
  readonly changed: Events<Record<string, undefined>>;
}

export function createContext(settings: Settings, closing: AbortSignal): GatewayContext {
  const events = createEvents<GatewayEvents>((fault) => {
    if (fault.event !== 'listener-error') events.emit('listener-error', fault);
  });
  return {
    ...settings,
    owner: Object.freeze({ ...settings.person, agent: settings.agent }),
    scope: settings.person,
    events,
    values: createValues(),
    taint: createTaint(),
    closing,
    auditInTurn: createInTurn(),
    openInTurn: createInTurn(),
    conflicts: new Map(),
    changed: createEvents(() => {}),
  };
}

/** @throws `closed` once the gateway is closed */
export function requireOpen({ closing }: GatewayContext): void {
  if (closing.aborted) throw new SkillRunError('closed', 'The gateway is closed. Make a new one.');
}
