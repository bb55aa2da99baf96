import { defaultLimits, type Limits, type Net } from '../../skill/caps.ts';
import { cpuSeconds } from './limits.ts';

/**
 * What a sandbox that is started ahead is made for: all that its kernel, its Node and its way out are told at the
 * start. A run is given one of its own class only, and so exactly what would be built for it.
 */
export interface WarmClass {
  readonly net: Net;
  /** The memory of its runs, and the longest of their times. */
  readonly limits: Limits;
  /** The same for all runs of one class, and for no others. */
  readonly key: string;
}

/** The class of a run. Times that come to the same seconds of processor time share one. */
export function warmClass({ net, limits }: { net: Net; limits: Limits }): WarmClass {
  const { mem_bytes } = limits;
  const wall_ms = (cpuSeconds(limits) - 1) * 1000;
  return { net, limits: { mem_bytes, wall_ms }, key: `${net} ${mem_bytes} ${wall_ms}` };
}

/** The class of a tool that declares neither net nor limits. */
export const defaultClass = warmClass({ net: 'deny', limits: defaultLimits });

/**
 * Which sandboxes should wait, as many of a class as stand in the answer: one of each class in turn, while there
 * is a place and memory for all that it might come to use.
 *
 * @param classes those wanted, the most important first
 * @param places most sandboxes
 * @param bytes most memory, each counted with all that its runs may have
 */
export function shareOut(classes: readonly WarmClass[], places: number, bytes: number): WarmClass[] {
  const shares: WarmClass[] = [];
  let left = bytes;
  for (let given = -1; given < shares.length && shares.length < places; ) {
    given = shares.length;
    for (const one of classes) {
      if (shares.length === places || one.limits.mem_bytes > left) continue;
      shares.push(one);
      left -= one.limits.mem_bytes;
    }
  }
  return shares;
}
