const encoder = new TextEncoder();

/** sha256 of bytes, or of a text's UTF-8 bytes, as 64 lower-case hex digits (WebCrypto). */
export async function sha256(data: string | Uint8Array): Promise<string> {
  const bytes = typeof data === 'string' ? encoder.encode(data) : Uint8Array.from(data);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A text's UTF-8 bytes. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}
