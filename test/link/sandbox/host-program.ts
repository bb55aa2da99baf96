// A host of its own, for tests that kill it or run it as another user: node host-program.js BACKEND DIRECTORY ENTRY CODE
import { openSandbox } from '../../../src/link/sandbox/open.ts';
import type { Backend } from '../../../src/link/sandbox/types.ts';
import { defaultLimits } from '../../../src/skill/caps.ts';

const [backend, directory, entry, code] = process.argv.slice(2) as [Backend, string, string, string];
const sandbox = await openSandbox({ backend, directory });
const files = [{ path: entry, bytes: Buffer.from(code) }];
const end = await sandbox.run({ files, entry, input: {}, limits: defaultLimits, net: 'deny' });
await sandbox.close();
process.stdout.write(JSON.stringify(end));
