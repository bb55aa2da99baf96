import { backends } from '../link/sandbox/help.ts';
import { attack } from './attack.ts';
import { handedPrograms, ownPrograms } from './hostile.ts';

/** The running Node, and those that SKILL_RUN_NODES names, with `:` between the paths. */
const nodes = [...new Set([process.execPath, ...(process.env.SKILL_RUN_NODES ?? '').split(':')])];

for (const node of nodes.filter((path) => path !== '')) {
  for (const backend of backends) {
    for (const layers of ['all layers', "none of Node's layers"] as const) {
      attack({ backend, node, layers }, [...handedPrograms, ...ownPrograms]);
    }
    attack({ backend, node, layers: 'all layers', warm: 5 }, [...handedPrograms, ...ownPrograms]);
  }
}
