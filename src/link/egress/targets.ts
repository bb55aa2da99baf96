import { visible } from '../../skill/text.ts';

/** A host that a tool asked for. */
export interface Target {
  /** As the tool wrote it, at most 253 characters, what cannot be seen made visible. */
  readonly host: string;
  /** `0` where the tool named none. */
  readonly port: number;
  /** Whether the rules let it through. */
  readonly allowed: boolean;
  /** What went over the connection, both ways. */
  readonly bytes: number;
}

/** A {@link Target} while its connection is open. */
export type OpenTarget = { -readonly [Key in keyof Target]: Target[Key] };

/** Most targets that one job may ask for: whatever goes out is on the record. */
export const maxTargets = 256;

/** The record of an authority as a CONNECT request has it, such as `example.com:443`. */
export function newTarget(authority: string): OpenTarget {
  const [, host = '', port = '0'] = /^(.*?)(?::(\d{1,5}))?$/.exec(authority) ?? [];
  return { host: visible(host.slice(0, 253)).slice(0, 253), port: Number(port), allowed: false, bytes: 0 };
}
