// npm run bench -- NAME
import { benchLink } from './link.ts';
import { benchStore } from './store.ts';

const benches: Readonly<Record<string, () => Promise<void>>> = { link: benchLink, store: benchStore };
const bench = benches[process.argv[2] ?? ''];
if (bench === undefined) {
  process.stderr.write(`Name one of: ${Object.keys(benches).join(', ')}\n`);
  process.exitCode = 2;
} else {
  await bench();
}
