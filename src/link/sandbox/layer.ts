/** The layers between a tool and the machine, in words for people. A tool without network needs all but `seccomp`. */
export const layers = {
  code: 'code pinned by its hash, read-only, no other file written',
  user: 'an ordinary user',
  namespaces: 'namespaces of its own: user, mount, pid, ipc, net, uts',
  root: 'a root of its own, read-only, that holds Node and the code only',
  privileges: 'no new privileges, no capabilities',
  limits: 'limits on memory, processor time, files and time',
  environment: 'an empty environment',
  output: 'an output of one JSON value',
  node: "Node's permission model and the preload",
  seccomp: 'a filter of system calls (seccomp)',
} as const;

/** The name of a layer. */
export type Layer = keyof typeof layers;

/** Something that a layer consists of and that is not there, in words for people. */
export interface Lack {
  readonly layer: Layer;
  readonly what: string;
}

/** What a probe saw of the layers before it refused: the cause of its `link_unavailable`. */
export class LackedLayers extends Error {
  /** The layers that are not all there. */
  readonly absent: readonly Layer[];
  /** Those that are. What is in neither was not looked at. */
  readonly on: readonly Layer[];

  constructor(absent: readonly Layer[], seen: readonly Layer[]) {
    super(`Layers that lack something: ${absent.join(', ')}.`);
    this.absent = absent;
    this.on = seen.filter((layer) => !absent.includes(layer));
  }
}
