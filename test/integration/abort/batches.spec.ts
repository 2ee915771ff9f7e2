import { describe, expect, it } from '@jest/globals';
import { NAMES } from '../../support/acting-node.js';
import { ABORT, aborted, type Context, giveUp, TwoNodes, verdicts } from './support/two-nodes.js';

const KEYS = ['a', 'b', 'c'];

const two = new TwoNodes();

const gives = (ctx: Context, _: unknown, call: number): Promise<void> | void => {
  if (call === 1) return giveUp(ctx);
};

describe.each(['transactional batch', 'plain batch'] as const)('a %s', (kind) => {
  const cancel = async (...keys: string[]): Promise<string[]> => {
    const slots = keys.map((key) => ({ name: NAMES[kind], key }));
    return verdicts(await two.asks.delays.cancelMany(slots, ABORT));
  };

  it('ends when one of it is aborted; the others run again, and spend no attempt', async () => {
    await two.begin(kind, gives, KEYS);
    expect(two.calls).toEqual([[KEYS, [1, 1, 1]]]);
    expect(await cancel('b')).toEqual(['cancelled']);
    await two.isEmpty();
    expect(await two.effects()).toEqual(['a', 'c']);
    const again = two.calls.slice(1);
    expect(new Set(again.flatMap(([keys]) => keys))).toEqual(new Set(['a', 'c']));
    expect(again.flatMap(([, attempts]) => attempts)).toEqual([1, 1]);
    const told = await two.toldOf(5);
    expect(told.filter(([, key]) => key === 'b')).toEqual([['aborted', 'b']]);
    expect(told.filter(([, key]) => key === 'a')).toEqual([
      ['released', 'a'],
      ['completed', 'a'],
    ]);
  });

  it('ends once for all that are aborted together', async () => {
    await two.begin(kind, gives, KEYS);
    expect(await cancel('a', 'x', 'c')).toEqual(['cancelled', 'absent', 'cancelled']);
    await two.isEmpty();
    expect(await two.effects()).toEqual(['b']);
    expect(two.calls).toEqual([
      [KEYS, [1, 1, 1]],
      [['b'], [1]],
    ]);
  });

  if (kind === 'transactional batch') return;

  it('that does its work all the same has done it for the aborted one, too', async () => {
    await two.begin(kind, aborted, KEYS);
    expect(await cancel('b')).toEqual(['absent']);
    await two.isEmpty();
    expect(await two.effects()).toEqual(KEYS);
  });

  it('may end some of its delays and give up the others', async () => {
    await two.begin(
      kind,
      async (ctx, delays, call) => {
        if (call > 1) return;
        await aborted(ctx);
        for (const delay of delays) if (delay.key !== 'a') ctx.fail?.(delay, ctx.signal.reason);
      },
      KEYS,
    );
    expect(await cancel('b')).toEqual(['cancelled']);
    await two.isEmpty();
    expect(two.calls).toEqual([
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
});
