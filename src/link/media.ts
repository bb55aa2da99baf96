import { invalidOption } from '../errors.ts';
import type { CodeResource } from '../run/service.ts';

/**
 * Where a Link gets a job's code by its media id. `undefined`: there is no such object.
 * What it answers is not trusted: the Link compares its sha256 with the job's pin before anything runs.
 */
export type MediaSource = (
  mediaId: string,
  options: {
    /** The pin, 64 lower-case hex digits, for a source that keeps more than one version. */
    sha256: string;
    signal: AbortSignal;
  },
) => Promise<Uint8Array | undefined>;

/** A {@link MediaSource} in memory. */
export interface MediaStore {
  readonly source: MediaSource;
  /** Takes copies. Throws `option_invalid` for one resource above the bound. */
  provide(resources: readonly CodeResource[]): void;
}

/** @param maxBytes kept in all, default 64 MiB; beyond it the longest unused go */
export function createMediaStore(maxBytes = 67_108_864): MediaStore {
  // By id and hash, so that a listing which claims another's media id replaces nothing.
  const kept = new Map<string, Uint8Array>();
  let total = 0;
  const keyOf = (mediaId: string, sha256: string): string => `${mediaId} ${sha256}`;

  const drop = (key: string): void => {
    total -= kept.get(key)?.byteLength ?? 0;
    kept.delete(key);
  };
  return {
    provide(resources) {
      for (const { mediaId, sha256, bytes } of resources) {
        if (bytes.byteLength > maxBytes) {
          throw invalidOption('resources', `one has more than ${maxBytes} bytes`, 'Provide less code.');
        }
        const key = keyOf(mediaId, sha256);
        drop(key);
        kept.set(key, Uint8Array.from(bytes));
        total += bytes.byteLength;
        for (const oldest of kept.keys()) {
          if (total <= maxBytes) break;
          drop(oldest);
        }
      }
    },
    async source(mediaId, { sha256 }) {
      const key = keyOf(mediaId, sha256);
      const bytes = kept.get(key);
      if (bytes === undefined) return undefined;
      kept.delete(key);
      kept.set(key, bytes);
      return bytes;
    },
  };
}
