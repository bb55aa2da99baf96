import { backends } from '../link/sandbox/help.ts';
import { attack } from './attack.ts';
import { networkPrograms, programsFor } from './hostile.ts';
import { nodesAtHand } from './nodes.ts';

const both = ['all layers', "none of Node's layers"] as const;

for (const node of await nodesAtHand(process.env.SKILL_RUN_NODES)) {
  for (const backend of backends) {
    for (const layers of both) attack({ backend, node, layers }, programsFor('deny'));
    attack({ backend, node, layers: 'all layers', warm: 5 }, programsFor('deny'));
  }
  // The other backend gives a tool no network.
  for (const backend of backends.filter((one) => one === 'bwrap')) {
    attack({ backend, node, layers: 'all layers', net: 'public' }, programsFor('public'));
    attack({ backend, node, layers: "none of Node's layers", net: 'public' }, networkPrograms);
  }
}
