import { newId } from '../../src/ids.ts';
import { createRandom } from './random.ts';

/**
 * Until it is disposed of, every random number of this process is drawn from the seed: how long somebody waits
 * before he asks again, and the ids, by which what was made in one millisecond is put in order.
 */
export function drawFrom(seed: number): Disposable {
  const { random } = Math;
  const { getRandomValues } = crypto;
  const draws = createRandom(seed);
  Math.random = () => draws.int(2 ** 32) / 2 ** 32;
  crypto.getRandomValues = (array) => {
    if (array !== null) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let at = 0; at < bytes.length; at += 1) bytes[at] = draws.int(256);
    }
    return array;
  };
  // An id of another millisecond, so that the first one goes on from none that was made before.
  newId('usr', 0);
  return {
    [Symbol.dispose]() {
      Math.random = random;
      crypto.getRandomValues = getRandomValues;
    },
  };
}
