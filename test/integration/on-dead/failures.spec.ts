import { afterAll, describe, expect, it } from '@jest/globals';
import { DiscardDelay } from 'nestjs-delay-queue';
import { NAMES } from '../../support/acting-node.js';
import { plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { type GaveUp, gaveUpBy, KEY, Mortal, note, SHORT } from './support/mortal.js';

const node = new Mortal();

/** Only its first call does that. */
const first =
  (misbehaves: GaveUp): GaveUp =>
  async (delay, ctx) => {
    await note(delay, ctx);
    if (node.calls === 1) await misbehaves(delay, ctx);
  };

describe('a method that does not end well is called again, it alone, and nothing of it is written', () => {
  const never = signal();

  it.each<[what: string, error: RegExp, name: 'test.plain' | typeof SHORT, misbehaves: GaveUp]>([
    [
      'throws',
      /^@OnDeadDelay of GivesUp\.gaveUp: Error: not now$/,
      NAMES.plain,
      () => Promise.reject(new Error('not now')),
    ],
    [
      'swallows an SQL error',
      /DelayRolledBackError: the transaction was rolled back/,
      NAMES.plain,
      (_, { manager }) => manager.query('SELECT 1 / 0').catch(() => {}),
    ],
    [
      'discards it, which is done already',
      /^@OnDeadDelay of GivesUp\.gaveUp: no more$/,
      NAMES.plain,
      () => Promise.reject(new DiscardDelay('no more')),
    ],
    ['outlives the timeout', /DelayTimeoutError/, SHORT, () => never.promise],
    [
      'does not await what it writes',
      /await it/,
      NAMES.plain,
      async (_, { manager }) => void manager.query('SELECT pg_sleep(0.2)').catch(() => {}),
    ],
  ])('%s', async (_, message, name, misbehaves) => {
    const causes: unknown[] = [];
    const then = first(misbehaves);
    node.gaveUp = (delay, ctx) => {
      causes.push(ctx.cause);
      return then(delay, ctx);
    };
    const retrying = node.next('retrying');
    const dead = node.dies(name);
    expect((await retrying).error).toMatch(message);
    expect(await node.effects()).toEqual([]);
    expect(await node.delays.find(name, KEY)).toMatchObject({
      state: 'retrying',
      attempts: 1,
      lastError: 'Error: no',
    });
    expect(await dead).toMatchObject({ attempt: 1, error: 'Error: no' });
    expect(await node.effects()).toEqual([{ key: KEY, error: 'Error: no' }]);
    expect([node.calls, node.attempts]).toEqual([2, 1]);
    expect(causes).toEqual([expect.any(Error), undefined]);
  });

  afterAll(() => never.resolve());
});

it('a method that throws for a discarded delay: its next attempt decides', async () => {
  node.handle = () => Promise.reject(new DiscardDelay('not wanted'));
  node.gaveUp = first(() => Promise.reject(new Error('not now')));
  expect(await node.dies(NAMES.plain, { maxAttempts: 10 })).toMatchObject({ attempt: 2 });
  expect([node.calls, node.attempts]).toEqual([2, 2]);
  expect(await node.effects()).toHaveLength(1);
});

describe('while the method runs', () => {
  it('the delay is running, and a cancel may abort it', async () => {
    const begun = signal();
    node.gaveUp = async (delay, ctx) => {
      await note(delay, ctx);
      begun.resolve();
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    };
    const options = { after: 0, key: KEY, maxAttempts: 1 };
    await node.delays.schedule(NAMES.plain, null, options);
    await begun.promise;
    const cancel = (how: object) => node.delays.cancel(NAMES.plain, KEY, how);
    expect(await cancel({})).toMatchObject({ verdict: 'running' });
    expect(await cancel({ running: 'abort' })).toMatchObject({ verdict: 'cancelled' });
    expect(await node.effects()).toEqual([]);
  });

  it('a shutdown waits for it, and for those behind it', async () => {
    const [begun, goOn] = [signal(), signal()];
    const name = 'test.stopped';
    let failed = 0;
    const other = await node.start({
      providers: [
        plainHandler(name, () => {
          failed += 1;
          throw new Error('no');
        }),
        gaveUpBy(name, async (delay, ctx) => {
          begun.resolve();
          await goOn.promise;
          await note(delay, ctx);
        }),
      ],
    });
    const item = { name, payload: null, after: 0, maxAttempts: 1 } as const;
    await node.delays.scheduleMany(['a', 'b'].map((key) => ({ ...item, key })));
    await begun.promise;
    await until(
      () => failed,
      (count) => count === 2,
    );
    const stopped = other.stop();
    goOn.resolve();
    await stopped;
    expect((await node.effects()).map(({ key }) => key)).toEqual(['a', 'b']);
  });
});
