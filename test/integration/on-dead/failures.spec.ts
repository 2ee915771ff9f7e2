import { describe, expect, it } from '@jest/globals';
import { DiscardDelay, type OnDelayOptions } from 'nestjs-delay-queue';
import { plainHandler, signal } from '../../support/delay-node.js';
import { until } from '../../support/until.js';
import { fails, type GaveUp, KEY, Mortal, NAME, note, schedule } from './support/mortal.js';

const mortal = new Mortal();

describe('a method that does not end well', () => {
  let calls: number;

  /** The first call misbehaves; after the second there is a dead letter. */
  async function misbehaves(first: GaveUp, options: OnDelayOptions = {}): Promise<string> {
    calls = 0;
    let attempts = 0;
    const told: unknown[] = [];
    const handler = plainHandler(
      NAME,
      () => {
        attempts += 1;
        throw new Error('no');
      },
      { maxAttempts: 1, ...options },
    );
    const node = await mortal.start(async (delay, ctx) => {
      calls += 1;
      await note(delay, ctx);
      told.push(ctx.cause);
      if (calls === 1) await first(delay, ctx);
    }, handler);
    const retrying = node.next('retrying');
    const dead = node.next('dead');
    await schedule(node);
    const { error } = await retrying;
    expect(await mortal.effects()).toEqual([]);
    expect(await node.delays.find(NAME, KEY)).toMatchObject({
      state: 'retrying',
      attempts: 1,
      lastError: 'Error: no',
    });
    expect(await dead).toMatchObject({ attempt: 1, error: 'Error: no' });
    expect(await mortal.effects()).toEqual([{ key: KEY, error: 'Error: no' }]);
    expect([calls, attempts]).toEqual([2, 1]);
    expect(told).toEqual([expect.any(Error), undefined]);
    return error;
  }

  it('throws: nothing of it is written, and it alone is called again', async () => {
    expect(await misbehaves(() => Promise.reject(new Error('not now')))).toMatch(
      /^@OnDeadDelay of GivesUp\.gaveUp: Error: not now$/,
    );
  });

  it('swallows an SQL error', async () => {
    expect(
      await misbehaves((_, { manager }) => manager.query('SELECT 1 / 0').catch(() => {})),
    ).toMatch(/DelayRolledBackError: the transaction was rolled back/);
  });

  it('outlives the timeout', async () => {
    const never = signal();
    expect(await misbehaves(() => never.promise, { timeout: 200 })).toMatch(/DelayTimeoutError/);
    never.resolve();
  });

  it('does not await what it writes', async () => {
    expect(
      await misbehaves((_, { manager }) => {
        manager.query('SELECT pg_sleep(0.2)').catch(() => {});
        return Promise.resolve();
      }),
    ).toMatch(/await it/);
  });

  it('throws for a discarded delay: its next attempt decides', async () => {
    const attempts: number[] = [];
    calls = 0;
    const node = await mortal.start(
      async (delay, ctx) => {
        calls += 1;
        await note(delay, ctx);
        if (calls === 1) throw new Error('not now');
      },
      plainHandler(NAME, ({ attempt }) => {
        attempts.push(attempt);
        throw new DiscardDelay('not wanted');
      }),
    );
    const dead = node.next('dead');
    await schedule(node);
    expect(await dead).toMatchObject({ attempt: 2 });
    expect(attempts).toEqual([1, 2]);
    expect(await mortal.effects()).toHaveLength(1);
  });
});

describe('while the method runs', () => {
  it('the delay is running, and a cancel may abort it', async () => {
    const begun = signal();
    const node = await mortal.start(async (delay, ctx) => {
      await note(delay, ctx);
      begun.resolve();
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    }, fails());
    await schedule(node);
    await begun.promise;
    expect(await node.delays.cancel(NAME, KEY)).toMatchObject({ verdict: 'running' });
    expect(await node.delays.cancel(NAME, KEY, { running: 'abort' })).toMatchObject({
      verdict: 'cancelled',
    });
    expect(await mortal.effects()).toEqual([]);
  });

  it('a shutdown waits for it, and for those behind it', async () => {
    const [begun, goOn] = [signal(), signal()];
    const node = await mortal.start(async (delay, ctx) => {
      begun.resolve();
      await goOn.promise;
      await note(delay, ctx);
    }, fails());
    const failed: string[] = [];
    node.events.on('started', ({ key }) => failed.push(String(key)));
    await node.delays.scheduleMany(
      ['a', 'b'].map((key) => ({ name: NAME, payload: null, key, after: 0 }) as const),
    );
    await begun.promise;
    await until(
      () => failed.length,
      (count) => count === 2,
    );
    const stopped = node.stop();
    goOn.resolve();
    await stopped;
    expect((await mortal.effects()).map(({ key }) => key)).toEqual(['a', 'b']);
  });

  it('no attempt begins: nobody hears of a start', async () => {
    const started: unknown[] = [];
    const node = await mortal.start(note, fails());
    node.events.on('started', (event) => started.push(event));
    const dead = node.next('dead');
    await schedule(node);
    await dead;
    expect(started).toHaveLength(1);
  });
});
