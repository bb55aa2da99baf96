// A process of its own: node store-worker.mjs TARGET MS. It waits for a line, and writes how many steps it played.
import { once } from 'node:events';
import { playFor } from './store-path.ts';
import { openTarget, type Target } from './store-target.ts';

const [target, ms] = process.argv.slice(2) as [string, string];
const { store, close } = await openTarget(JSON.parse(target) as Target);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
process.stdout.write(`${await playFor(store, Number(ms))}\n`);
await close();
process.exit();
