import { attack } from '../../attack/attack.ts';
import { handedPrograms, networkPrograms, ownPrograms, programsFor } from '../../attack/hostile.ts';
import { backends } from './help.ts';

const own = ownPrograms.filter(({ net }) => net === 'deny');

// `npm run attack` runs all of them in every world, on every Node at hand.
for (const backend of backends) {
  const here = { backend, node: process.execPath };
  attack({ ...here, layers: 'all layers' }, programsFor('deny'));
  attack({ ...here, layers: 'all layers', warm: 5 }, own);
  attack({ ...here, layers: "none of Node's layers" }, handedPrograms);
  if (backend === 'bwrap') attack({ ...here, layers: 'all layers', net: 'public' }, networkPrograms);
}
