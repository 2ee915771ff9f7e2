import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/** V8's own collector, called between measurements so that none pays for another's garbage. */
export function collectGarbage(): void {
  if (collect === undefined) {
    setFlagsFromString('--expose-gc');
    // A few collections in a row take functions for disused, and they would start cold each time.
    setFlagsFromString('--no-flush-bytecode');
    collect = runInNewContext('gc') as () => void;
  }
  // The second collection ends the first one's sweep, and takes what a finalizer let go.
  collect();
  collect();
}

/** Live bytes of the heap and of typed arrays. */
export function liveBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
