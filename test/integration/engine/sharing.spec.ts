import { beforeEach, expect, it } from '@jest/globals';
import { plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { stageOfEach } from './support/stage-of-each.js';
import { AttemptStore, NodeStore, spread } from '../../support/engine-parts.js';

const ROWS = 40;

let release: () => void;
const stage = stageOfEach({ release: () => release() });

beforeEach(() => stage.overdue('test.shared', ROWS));

const start = (nodeName: string, run: () => Promise<void> | void, concurrency: number) =>
  stage.start({
    options: { nodeName },
    providers: [plainHandler('test.shared', run, { concurrency })],
  });

it('a node with nothing left of its own helps a busy one', async () => {
  const gate = signal();
  release = gate.resolve;
  let done = 0;
  await start('a', () => gate.promise, 1);
  await start('b', () => void (done += 1), ROWS);
  // All but the one that the busy node has claimed.
  const helped = until(
    () => done,
    (count) => count === ROWS - 1,
  );
  await expect(helped).resolves.toBe(ROWS - 1);
});

it('a node that learns of another leaves it its rows, those that it has just read among them', async () => {
  const [read, joined, knowsBoth, allDone] = [signal(), signal(), signal(), signal()];
  release = () => [joined, allDone].forEach(({ resolve }) => resolve());
  stage.parts.intercept(
    NodeStore,
    'sweep',
    async ({ real, given: [, , { helpAfterMs }], self }) => {
      if (self.nodeName !== 'a') return real();
      // This is about its own rows: however slow the other is, nobody helps.
      if (helpAfterMs !== null) await allDone.promise;
      const page = await real();
      read.resolve();
      await joined.promise;
      return page;
    },
  );
  stage.parts.intercept(NodeStore, 'load', async ({ real, given: [, , { limit }], self }) => {
    const page = await real();
    // Asked for nothing but who is there; it counts once the answer has been looked at.
    const isRollCall = self.nodeName === 'a' && limit === 0;
    if (isRollCall && page.nodes.length === 1) setImmediate(knowsBoth.resolve);
    return page;
  });
  const claimed: number[] = [];
  stage.parts.intercept(AttemptStore, 'claim', ({ real, given: [requests], self }) => {
    if (self.nodeName === 'a') claimed.push(...requests.map(({ id }) => id));
    return real();
  });
  let done = 0;
  const run = (): void => {
    done += 1;
    if (done === ROWS) allDone.resolve();
  };
  await start('a', run, ROWS);
  await read.promise;
  await start('b', run, ROWS);
  await knowsBoth.promise;
  joined.resolve();
  await allDone.promise;
  expect(claimed.filter((id) => spread(id) % 2 === 1)).toEqual([]);
  expect(claimed).not.toEqual([]);
});
