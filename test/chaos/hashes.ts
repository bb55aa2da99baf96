import { createHash } from 'node:crypto';

/**
 * WebCrypto hashes on another thread, so which of two hashes is ready first would be no choice of the
 * schedule's. In a process of chaos they are made at once.
 */
export function hashAtOnce(): void {
  crypto.subtle.digest = async (_, data) => {
    const bytes = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
    return Uint8Array.from(createHash('sha256').update(bytes).digest()).buffer;
  };
}
