import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import type { Delay, DelayBatchContext } from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { signal } from '../../support/delay-node.js';
import { KINDS, keysOf, type Kind } from '../engine/support/batch-stage.js';
import { ABORT, TwoNodes, verdicts } from './support/two-nodes.js';

const NAME = 'test.batch';
const KEYS = ['a', 'b', 'c'];

type Context = DelayBatchContext & { manager?: EntityManager };

const two = new TwoNodes();

/** All three in one call, which has begun. What it does is `first`; later calls do their work at once. */
async function begin(
  kind: Kind,
  first: (ctx: Context, delays: Delay[]) => Promise<void>,
): Promise<{ calls: [keys: string[], attempts: number[]][] }> {
  const begun = signal();
  const calls: [string[], number[]][] = [];
  const note = async (delays: Delay[], { manager }: Context): Promise<void> => {
    const keys = keysOf(delays);
    const insert = 'INSERT INTO effect SELECT unnest($1::text[]), $2';
    if (manager === undefined) await two.sql(insert, [keys, String(calls.length)]);
    else await manager.query(insert, [keys, String(calls.length)]);
  };
  const handler = KINDS[kind](
    NAME,
    async (delays, ctx) => {
      calls.push([keysOf(delays), delays.map(({ attempt }) => attempt)]);
      if (calls.length === 1) {
        if (kind === 'transactional') await note(delays, ctx);
        begun.resolve();
        await first(ctx, delays);
      } else await note(delays, ctx);
    },
    { batch: 3 },
  );
  await two.start([handler]);
  await two.asks.delays.scheduleMany(
    KEYS.map((key) => ({ name: NAME, payload: null, key, after: 0 })),
  );
  await begun.promise;
  expect(calls[0]?.[0]).toEqual(KEYS);
  return { calls };
}

const cancel = (...keys: string[]) =>
  two.asks.delays.cancelMany(
    keys.map((key) => ({ name: NAME, key })),
    ABORT,
  );

const isEmpty = () => two.until('SELECT id FROM delay_queue.delay', ({ length }) => length === 0);

const giveUp = async ({ signal: aborted }: Context): Promise<void> => {
  await once(aborted, 'abort');
  aborted.throwIfAborted();
};

describe.each(['transactional', 'plain'] as const)('a %s batch', (kind) => {
  it('ends when one of it is aborted; the others run again, and spend no attempt', async () => {
    const { calls } = await begin(kind, giveUp);
    expect(verdicts(await cancel('b'))).toEqual(['cancelled']);
    await isEmpty();
    expect(await two.effects()).toEqual(['a', 'c']);
    expect(
      calls
        .slice(1)
        .flatMap(([keys]) => keys)
        .toSorted(),
    ).toEqual(['a', 'c']);
    expect(calls.slice(1).flatMap(([, attempts]) => attempts)).toEqual([1, 1]);
    const told = await two.toldOf(5);
    expect(told.filter(([, key]) => key === 'b')).toEqual([['aborted', 'b']]);
    expect(told.filter(([, key]) => key === 'a')).toEqual([
      ['released', 'a'],
      ['completed', 'a'],
    ]);
  });

  it('ends once for all that are aborted together', async () => {
    const { calls } = await begin(kind, giveUp);
    expect(verdicts(await cancel('a', 'x', 'c'))).toEqual(['cancelled', 'absent', 'cancelled']);
    await isEmpty();
    expect(await two.effects()).toEqual(['b']);
    expect(calls).toEqual([
      [KEYS, [1, 1, 1]],
      [['b'], [1]],
    ]);
  });
});

it('a plain batch that does its work all the same has done it for the aborted one, too', async () => {
  await begin('plain', async (ctx, delays) => {
    await once(ctx.signal, 'abort');
    await two.sql('INSERT INTO effect SELECT unnest($1::text[])', [keysOf(delays)]);
  });
  expect(verdicts(await cancel('b'))).toEqual(['absent']);
  await isEmpty();
  expect(await two.effects()).toEqual(KEYS);
});

it('a plain batch may end some of its delays and give up the others', async () => {
  const { calls } = await begin('plain', async (ctx, delays) => {
    await once(ctx.signal, 'abort');
    for (const delay of delays) if (delay.key !== 'a') ctx.fail(delay, ctx.signal.reason);
  });
  expect(verdicts(await cancel('b'))).toEqual(['cancelled']);
  await isEmpty();
  expect(calls).toEqual([
    [KEYS, [1, 1, 1]],
    [['c'], [1]],
  ]);
  expect(await two.toldOf(4)).toEqual(
    expect.arrayContaining([
      ['completed', 'a'],
      ['aborted', 'b'],
      ['released', 'c'],
    ]),
  );
});
