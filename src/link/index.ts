export type { LinkOptions, LinkReady, LocalLink } from './link.ts';
export type { LocalLinkOptions } from './local-link.ts';
export { createLocalLink } from './local-link.ts';
export type { LocalRunOptions } from './local-run.ts';
export { startLocalRun } from './local-run.ts';
export type { MediaSource } from './media.ts';
export type { Backend } from './sandbox/types.ts';
export type { LocalRun, ServeOptions } from './serve-link.ts';
