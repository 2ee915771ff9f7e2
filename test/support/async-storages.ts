import asyncHooks from 'node:async_hooks';

const { AsyncLocalStorage } = asyncHooks;

/** Of the file that runs: a worker runs one at a time. */
const made = new Set<InstanceType<typeof AsyncLocalStorage>>();

// Node's modules are the same ones in each file of tests. From Node 24 on, this one is a getter.
Object.defineProperty(asyncHooks, 'AsyncLocalStorage', {
  configurable: true,
  enumerable: true,
  value: class<Store> extends AsyncLocalStorage<Store> {
    constructor() {
      super();
      made.add(this);
    }
  },
});

/**
 * For the end of a file of tests, whose modules no other file uses. A storage that once ran stays
 * enabled: Node 20 goes through all of them for each promise, and each file that loads Nest and the
 * library anew adds two to its worker.
 */
export function disableStorages(): void {
  for (const storage of made) storage.disable();
  made.clear();
}
