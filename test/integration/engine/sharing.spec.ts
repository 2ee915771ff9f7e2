import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { spread } from '../../../src/delay-queue/store/wire/ownership.js';
import { AttemptStore } from '../../../src/delay-queue/store/attempt.store.js';
import { NodeStore } from '../../../src/delay-queue/store/node.store.js';
import { plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { INSERT_OVERDUE } from './support/overdue.js';
import { Stage } from './support/stage.js';

const ROWS = 40;

let stage: Stage;
let restores: (() => void)[];

/** Another method of a store in the place of one, until the test is over. */
function wrap<Store, Name extends keyof Store>(
  store: Store,
  name: Name,
  around: (original: Store[Name]) => Store[Name],
): void {
  const original = store[name];
  store[name] = around(original);
  restores.push(() => {
    store[name] = original;
  });
}

beforeEach(async () => {
  restores = [];
  stage = await Stage.open();
  await stage.sql(INSERT_OVERDUE, [ROWS, 'test.shared']);
});

afterEach(async () => {
  await stage.close();
  for (const restore of restores) restore();
});

const start = (nodeName: string, run: () => Promise<void> | void, concurrency: number) =>
  stage.start({
    options: { nodeName },
    providers: [plainHandler('test.shared', run, { concurrency })],
  });

it('a node with nothing left of its own helps a busy one', async () => {
  const gate = signal();
  let done = 0;
  try {
    await start('a', () => gate.promise, 1);
    await start('b', () => void (done += 1), ROWS);
    // All but the one that the busy node has claimed.
    await expect(
      until(
        () => done,
        (count) => count === ROWS - 1,
      ),
    ).resolves.toBe(ROWS - 1);
  } finally {
    gate.resolve();
  }
});

it('a node that learns of another leaves it its rows, those that it has just read among them', async () => {
  const [read, joined, knowsBoth, allDone] = [signal(), signal(), signal(), signal()];
  const claimed: number[] = [];
  wrap(
    NodeStore.prototype,
    'sweep',
    (sweep) =>
      async function sweepHeld(this: NodeStore, ...parameters) {
        if (this.nodeName !== 'a') return sweep.apply(this, parameters);
        // This is about its own rows: however slow the other is, nobody helps.
        if (parameters[2].helpAfterMs !== null) await allDone.promise;
        const page = await sweep.apply(this, parameters);
        read.resolve();
        await joined.promise;
        return page;
      },
  );
  wrap(
    NodeStore.prototype,
    'load',
    (load) =>
      async function loadSeen(this: NodeStore, ...parameters) {
        const page = await load.apply(this, parameters);
        // Asked for nothing but who is there; it counts once the answer has been looked at.
        const isRollCall = this.nodeName === 'a' && parameters[2].limit === 0;
        if (isRollCall && page.nodes.length === 1) setImmediate(knowsBoth.resolve);
        return page;
      },
  );
  wrap(
    AttemptStore.prototype,
    'claim',
    (claim) =>
      function claimSeen(this: AttemptStore, requests) {
        if (this.nodeName === 'a') claimed.push(...requests.map(({ id }) => id));
        return claim.call(this, requests);
      },
  );
  let done = 0;
  const run = (): void => {
    done += 1;
    if (done === ROWS) allDone.resolve();
  };
  try {
    await start('a', run, ROWS);
    await read.promise;
    await start('b', run, ROWS);
    await knowsBoth.promise;
    joined.resolve();
    await allDone.promise;
  } finally {
    joined.resolve();
    allDone.resolve();
  }
  expect(claimed.filter((id) => spread(id) % 2 === 1)).toEqual([]);
  expect(claimed).not.toEqual([]);
});
