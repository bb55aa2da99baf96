import { type FirstName, maxOpening, refused, unfinished } from './first-name.ts';

const handshakeRecord = 22;
const clientHello = 1;
const serverName = 0x0000;
const encryptedHello = 0xfe0d;
const hostName = 0;
// A client sends its hello in one, rarely in a few. All are read again with every byte that comes: in thousands of
// tiny ones, a tool would keep the host at work for next to nothing.
const maxRecords = 32;

/**
 * Reads the server name out of the TLS ClientHello (RFC 8446, RFC 6066) that a connection begins with.
 * Refused: what is not TLS, names no host or more than one, or hides another name beside it (ECH).
 */
export function readServerName(bytes: Buffer): FirstName {
  try {
    const message = readHandshake(bytes);
    return message === undefined ? unfinished : readHello(message);
  } catch {
    // A length that points beyond its field.
    return refused;
  }
}

// The first handshake message, which may be spread over several records; `undefined` while some is to come.
function readHandshake(bytes: Buffer): Buffer | undefined {
  let message = Buffer.alloc(0);
  for (let at = 0, records = 1; ; records += 1) {
    if (records > maxRecords) throw malformed();
    const record = bytes.subarray(at);
    if (record.length > 0 && record[0] !== handshakeRecord) throw malformed();
    if (record.length > 1 && record[1] !== 3) throw malformed();
    if (record.length < 5) return undefined;
    const length = record.readUInt16BE(3);
    if (length === 0 || at + 5 + length > maxOpening) throw malformed();
    if (record.length < 5 + length) return undefined;
    message = Buffer.concat([message, record.subarray(5, 5 + length)]);
    at += 5 + length;
    if (message[0] !== clientHello) throw malformed();
    const wanted = message.length < 4 ? Number.POSITIVE_INFINITY : 4 + message.readUIntBE(1, 3);
    if (message.length > wanted) throw malformed();
    if (message.length === wanted) return message.subarray(4);
  }
}

function readHello(message: Buffer): FirstName {
  // The version and 32 random bytes come first.
  const [, afterSession] = field(message, 34, 1);
  const [, afterCiphers] = field(message, afterSession, 2);
  const [, afterCompression] = field(message, afterCiphers, 1);
  const [extensions, end] = field(message, afterCompression, 2);
  if (end !== message.length) return refused;
  const names: string[] = [];
  for (let at = 0; at < extensions.length; ) {
    const type = extensions.readUInt16BE(at);
    const [content, next] = field(extensions, at + 2, 2);
    if (type === encryptedHello) return refused;
    if (type === serverName) names.push(readName(content));
    at = next;
  }
  const [name] = names;
  return names.length === 1 && name !== undefined ? { state: 'named', name } : refused;
}

// A list that holds exactly one name, of the one kind that there is.
function readName(content: Buffer): string {
  const [list, end] = field(content, 0, 2);
  if (end !== content.length || list[0] !== hostName) throw malformed();
  const [name, last] = field(list, 1, 2);
  if (last !== list.length) throw malformed();
  return name.toString('latin1');
}

// Bytes behind their own length of `size` bytes, and where they end.
function field(bytes: Buffer, at: number, size: number): [content: Buffer, end: number] {
  const start = at + size;
  const end = start + bytes.readUIntBE(at, size);
  if (end > bytes.length) throw malformed();
  return [bytes.subarray(start, end), end];
}

function malformed(): RangeError {
  return new RangeError('Not a ClientHello.');
}
