import { type FirstName, maxOpening, refused, unfinished } from './first-name.ts';

const requestLine = /^[A-Z]{1,16} (?:\/[\x21-\x7e]*|\*) HTTP\/1\.1$/;
const header = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\x80-\xff\t]*)$/;

/**
 * Reads the host out of the HTTP/1.1 request that a plain connection begins with.
 * Refused: what is not HTTP, names the host in its target, or has not exactly one `Host`.
 */
export function readRequestHost(bytes: Buffer): FirstName {
  const text = bytes.toString('latin1');
  // Most of what is no HTTP shows at its first byte; all of it at the first line.
  if (text.length > 0 && !/^[A-Z]/.test(text)) return refused;
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return bytes.length > maxOpening ? refused : unfinished;
  const [line = '', ...lines] = text.slice(0, end).split('\r\n');
  const fields = lines.map((one) => header.exec(one));
  const hosts = fields.flatMap((one) => (one?.[1]?.toLowerCase() === 'host' ? [one[2] ?? ''] : []));
  const [host] = hosts;
  if (!requestLine.test(line) || fields.includes(null) || hosts.length !== 1 || host === undefined) {
    return refused;
  }
  return { state: 'named', name: host.trimEnd().replace(/:80$/, '') };
}
