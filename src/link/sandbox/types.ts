import type { Limits, Net } from '../../skill/caps.ts';
import type { Json, JsonObject } from '../../skill/json.ts';
import type { Target } from '../egress/targets.ts';

/** One code file of a job, at its path in the tool's own tree. */
export interface CodeFile {
  /** As the skill names it, such as `lib/text.js`. */
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** One run of a tool. */
export interface ToolRun {
  readonly files: readonly CodeFile[];
  /** The path of one of `files`. */
  readonly entry: string;
  /** Goes to the tool's stdin as JSON, then end of file. */
  readonly input: JsonObject;
  readonly limits: Limits;
  readonly net: Net;
  /** Ends the run: everything in the sandbox is killed. */
  readonly signal?: AbortSignal;
  /** Called once, when the tool's process has been started. */
  readonly onStart?: () => void;
}

/** What a run used. */
export interface RunUsage {
  /** Milliseconds from start to end; of a sandbox that was started ahead, from when it was given the run. */
  readonly wallMs: number;
  /** Processor milliseconds in the kernel's steps of 10, where they could be read. */
  readonly cpuMs: number | null;
  /** Peak of anonymous memory in bytes, Node's own included, where it could be read. */
  readonly memPeakBytes: number | null;
}

/** How a run ended. Everything in it that a tool wrote is untrusted. */
export type RunEnd = {
  /** At most 16 KiB, control characters made visible; for the person. */
  readonly stderr: string;
  readonly usage: RunUsage;
  /** The hosts that the tool asked for, at most 256; for the person. */
  readonly targets: readonly Target[];
} & (
  | { readonly kind: 'exited'; readonly value: Json }
  | { readonly kind: 'limit'; readonly limit: 'wall' | 'cpu' | 'memory' | 'output'; readonly detail: string }
  | {
      /** The tool's own fault: exit code, signal, or an output that is not one JSON value. */
      readonly kind: 'failed';
      readonly exitCode: number | null;
      readonly detail: string;
    }
  | {
      /** Refused before anything of the tool's ran: names, entry, files, net. */
      readonly kind: 'refused';
      readonly detail: string;
    }
  | { readonly kind: 'cancelled' }
);

/** The two ways this library can build a sandbox. */
export type Backend = 'bwrap' | 'util-linux';

/** A sandbox whose probe passed. */
export interface Sandbox {
  readonly backend: Backend;
  readonly seccomp: 'on' | 'absent';
  /** The networks it can hold a tool to. */
  readonly nets: readonly Net[];
  /** Why it holds a tool to no network but `deny`, and what mends that, where it does not. */
  readonly withheld?: string;
  run(run: ToolRun): Promise<RunEnd>;
  /** Kills what still runs and removes what lies on disk. */
  close(): Promise<void>;
}
