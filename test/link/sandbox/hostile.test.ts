import { attack } from '../../attack/attack.ts';
import { networkPrograms, programsFor, sampleOf } from '../../attack/hostile.ts';
import { backends } from './help.ts';

const sample = sampleOf(programsFor('deny'));

// All programs once, on the stronger backend; in every other world of this Node, one of each kind. `npm run attack`
// runs all of them in every world, on every Node at hand.
for (const backend of backends) {
  const here = { backend, node: process.execPath };
  attack({ ...here, layers: 'all layers' }, backend === backends[0] ? programsFor('deny') : sample);
  attack({ ...here, layers: 'all layers', warm: 5 }, sample);
  attack({ ...here, layers: "none of Node's layers" }, sample);
  if (backend === 'bwrap') attack({ ...here, layers: 'all layers', net: 'public' }, networkPrograms);
}
