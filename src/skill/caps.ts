// The contract's own numbers (actor.skill@2, ADR-060), each in one place.

/** The network a tool may reach. */
export type Net = 'deny' | 'openvibe-only' | 'public';
/** The networks a tool can declare, from the narrowest to the widest. */
export const nets: readonly Net[] = ['deny', 'openvibe-only', 'public'];

/** Whether a network is one, and no wider than another. */
export function isWithin(net: Net, most: Net): boolean {
  return nets.includes(net) && nets.indexOf(net) <= nets.indexOf(most);
}

/** What one run of a tool may use. */
export interface Limits {
  /** Wall-clock time in milliseconds, 1 to 30000. */
  readonly wall_ms: number;
  /** Peak memory in bytes, 1 to 268435456. */
  readonly mem_bytes: number;
}

/** Limits of a tool that declares none. */
export const defaultLimits: Limits = { wall_ms: 10_000, mem_bytes: 134_217_728 };
/** No tool runs above these. */
export const maxLimits: Limits = { wall_ms: 30_000, mem_bytes: 268_435_456 };

/** Longest JSON text of a tool's arguments, and of its result, in bytes. */
export const maxJsonBytes = 65_536;
/** Deepest nesting of a tool's arguments and of its result. */
export const maxJsonDepth = 64;
