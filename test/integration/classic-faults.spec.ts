/**
 * What the classic designs get wrong, and that it is not so here. `docs/classics.md` lists the faults and
 * the tests of each; `docs/classics/` has the designs themselves, and `test/docs/classics.spec.ts` runs
 * them beside ours.
 */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NodeStore } from '../../src/delay-queue/store/node.store.js';
import { plainHandler, signal } from '../support/delay-node.js';
import { Stage } from './engine/support/stage.js';
import { until } from '../support/until.js';
import { makeSweepsRare } from '../support/rare-sweeps.js';

// Nothing is found because it is overdue.
makeSweepsRare();

let stage: Stage;

beforeEach(async () => {
  stage = await Stage.open();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await stage.close();
});

describe('a minute and second wheel', () => {
  it('awaits handlers one by one: here those that take long delay nobody', async () => {
    const end = signal();
    let holding = 0;
    const hold = async (): Promise<void> => {
      holding += 1;
      await end.promise;
    };
    const node = await stage.start({
      providers: [plainHandler('test.long', hold), plainHandler('test.short', () => {})],
    });
    for (let n = 0; n < 5; n += 1) await node.delays.schedule('test.long', n, { after: 50 });
    await until(
      () => holding,
      (count) => count === 5,
    );
    const completed = node.next('completed');
    await node.delays.schedule('test.short', null, { after: 50 });
    expect(await completed).toMatchObject({ name: 'test.short' });
    end.resolve();
  });
});

describe('table polling', () => {
  it('is as late as its interval: here what is due between two loads does not wait for one', async () => {
    const load = jest.spyOn(NodeStore.prototype, 'load');
    const node = await stage.start({
      options: { loadEvery: '59s', horizon: '60s' },
      providers: [plainHandler('test.near', () => {})],
    });
    await until(
      () => load.mock.calls.length,
      // The one that joins, and the first of the loader.
      (calls) => calls === 2,
    );
    const completed = node.next('completed');
    await node.delays.schedule('test.near', null, { after: 300 });
    await completed;
    expect(load.mock.calls).toHaveLength(2);
  });
});

describe('a Redis sorted set', () => {
  it('loses what was taken out and not yet run: here the row stays until it is done', async () => {
    const seen: unknown[] = [];
    const node = await stage.start({
      providers: [
        plainHandler('test.row', async () => {
          seen.push(...(await stage.sql('SELECT attempts, key FROM delay_queue.delay')));
        }),
      ],
    });
    const completed = node.next('completed');
    await node.delays.schedule('test.row', null, { after: 0, key: 'k' });
    await completed;
    expect(seen).toEqual([{ attempts: 1, key: 'k' }]);
  });
});

describe('a queue with a time to live and a dead-letter exchange', () => {
  it('lets a long delay at its head block shorter ones: here they fire by due', async () => {
    const fired: (string | null)[] = [];
    const node = await stage.start({
      providers: [plainHandler('test.ttl', ({ key }) => void fired.push(key))],
    });
    const last = node.next('completed', ({ key }) => key === '400');
    for (const after of ['60d', '1h', '25s', 400, 250, 100] as const) {
      await node.delays.schedule('test.ttl', null, { after, key: String(after) });
    }
    await last;
    expect(fired).toEqual(['100', '250', '400']);
  });

  it('knows no business keys: here a cancelled delay never fires, its neighbours do', async () => {
    const fired: (string | null)[] = [];
    const node = await stage.start({
      providers: [plainHandler('test.ttl', ({ key }) => void fired.push(key))],
    });
    const last = node.next('completed', ({ key }) => key === 'c');
    for (const [key, after] of [
      ['a', 100],
      ['b', 150],
      ['c', 200],
    ] as const) {
      await node.delays.schedule('test.ttl', null, { after, key });
    }
    expect(await node.delays.cancel('test.ttl', 'b')).toMatchObject({ verdict: 'cancelled' });
    await last;
    expect(fired).toEqual(['a', 'c']);
  });
});
