import { expect, it } from '@jest/globals';
import { plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { Stage } from './support/stage.js';
import { makeSweepsRare } from '../../support/rare-sweeps.js';

makeSweepsRare();

/** More than a node keeps ready of one name; at most 10,000 are scheduled by one call. */
const ROWS = 15_000;
const CALLS = 2;

it('more delays than find room fall due at the same moment, and all run as soon as there is some', async () => {
  const stage = await Stage.open();
  const gate = signal();
  const allDue = signal();
  const seen = new Set<number>();
  try {
    const node = await stage.start({
      providers: [
        plainHandler('test.crowd', () => gate.promise, { concurrency: 1_000 }),
        plainHandler('test.last', () => allDue.resolve()),
      ],
      // No load and no pass of the sweeper comes to the rescue within this test.
      options: { horizon: '1h', loadEvery: '59m' },
    });
    node.events.on('completed', ({ id, name }) => {
      if (name === 'test.crowd') seen.add(Number(id));
    });
    const items = Array.from({ length: ROWS / CALLS }, () => ({
      name: 'test.crowd' as const,
      payload: null,
      after: 0,
    }));
    for (let call = 0; call < CALLS; call += 1) await node.delays.scheduleMany(items);
    // Due after them: when it runs, all others are due and wait for those whose handlers do not end.
    await node.delays.schedule('test.last', null, { after: '1ms' });
    await allDue.promise;
    gate.resolve();
    await expect(
      until(
        () => seen.size,
        (size) => size === ROWS,
      ),
    ).resolves.toBe(ROWS);
  } finally {
    gate.resolve();
    await stage.close();
  }
});
