import { attack } from '../../attack/attack.ts';
import { handedPrograms, ownPrograms } from '../../attack/hostile.ts';
import { backends } from './help.ts';

// `npm run attack` runs all of them in every world, on every Node at hand.
for (const backend of backends) {
  attack({ backend, node: process.execPath, layers: 'all layers' }, [...handedPrograms, ...ownPrograms]);
  attack({ backend, node: process.execPath, layers: 'all layers', warm: 5 }, ownPrograms);
  attack({ backend, node: process.execPath, layers: "none of Node's layers" }, handedPrograms);
}
