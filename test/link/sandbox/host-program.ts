// A host of its own, for tests that kill it, run it as another user, or let it end without closing anything:
// node host-program.js BACKEND DIRECTORY ENTRY CODE [WARM] [JOBS] [NET]
import { openSandbox } from '../../../src/link/sandbox/open.ts';
import type { Backend } from '../../../src/link/sandbox/types.ts';
import { defaultLimits, type Net } from '../../../src/skill/caps.ts';

const [backend, directory, entry, code, warm, jobs, net] = process.argv.slice(2) as [
  Backend,
  string,
  string,
  string,
  string?,
  string?,
  Net?,
];
const sandbox = await openSandbox({ backend, directory, warm: Number(warm ?? 1) });
const files = [{ path: entry, bytes: Buffer.from(code) }];
const run = { files, entry, input: {}, limits: defaultLimits, net: net ?? 'deny' };
const ends = await Promise.all(Array.from({ length: Number(jobs ?? 1) }, () => sandbox.run(run)));
if (ends.length > 0) await sandbox.close();
process.stdout.write(JSON.stringify(ends[0] ?? null));
