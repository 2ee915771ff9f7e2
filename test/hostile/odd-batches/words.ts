import { type Delay, DelayInvalidError, DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import { THROWS } from '../odd-handlers/throws.js';
import type { BatchReach, OddBatch } from './odd-batch.js';

const boom = (): never => {
  throw new Error('boom');
};

function revoked(): Delay {
  const { proxy, revoke } = Proxy.revocable({} as Delay, {});
  revoke();
  return proxy;
}

/** What cannot be said is refused with the library's own error, and the batch goes on. */
const refused = (what: string, say: (reach: BatchReach) => void): OddBatch => ({
  what,
  act: (reach) => {
    try {
      say(reach);
    } catch (error) {
      if (error instanceof DelayInvalidError) return;
      throw error;
    }
    throw new Error('it was not refused');
  },
  ends: 'completed',
});

const failing = (what: string, of: (reach: BatchReach) => unknown): OddBatch =>
  refused(`fails ${what}`, (reach) => reach.ctx.fail(of(reach) as Delay, new Error('whose?')));

const waiting = (what: string, after: unknown): OddBatch =>
  refused(`postpones by ${what}`, ({ ctx, odd }) => ctx.postpone(odd, after as number));

const REFUSED: readonly OddBatch[] = [
  failing('nothing', () => undefined),
  failing('an id', ({ odd }) => odd.id),
  failing('the whole list', ({ delays }) => delays),
  failing('a delay of another batch', ({ odd }) => ({ ...odd, id: '999999999' })),
  failing('a delay whose id it has changed', ({ odd }) => Object.assign(odd, { id: '0' })),
  failing('a revoked proxy', revoked),
  failing('an object whose id cannot be read', () =>
    Object.defineProperty({}, 'id', { enumerable: true, get: boom }),
  ),
  failing('an object whose id cannot become a text', () => ({ id: { toString: boom } })),
  waiting('nothing', undefined),
  waiting('NaN', NaN),
  waiting('a billion years', 1e20),
  waiting('soon', 'soon'),
];

/** Whatever a handler can throw, said of one delay instead. */
const SAID: readonly OddBatch[] = THROWS.map(({ what, act, ends: [end], error }) => ({
  what: what.replace('throws', 'fails one with'),
  kinds: ['plain'],
  act: ({ odd, ctx }) => {
    try {
      act({} as never);
    } catch (thrown) {
      ctx.fail(odd, thrown);
    }
  },
  ends: end === 'postponed' ? 'postponed' : 'dead',
  ...(error && { error }),
}));

/** What a handler says of its delays, and how. */
export const WORDS: readonly OddBatch[] = [
  ...REFUSED,
  ...SAID,
  {
    what: 'fails a copy of its delay',
    act: ({ odd, ctx }) => ctx.fail(structuredClone(odd), new Error('copied')),
    ends: 'dead',
    error: /copied/,
  },
  {
    what: 'fails by a function it took out of its context',
    // oxlint-disable-next-line typescript/unbound-method -- hostile
    act: ({ odd, ctx: { fail } }) => fail(odd, new Error('taken out')),
    ends: 'dead',
    error: /taken out/,
  },
  {
    what: 'changes its mind: the last word counts',
    act: ({ odd, ctx }) => {
      ctx.fail(odd, new Error('first'));
      ctx.fail(odd, new DiscardDelay('second'));
      ctx.postpone(odd, '1h');
    },
    ends: 'postponed',
  },
  {
    what: 'fails one a thousand times',
    act: ({ odd, ctx }) => {
      for (let time = 0; time < 1_000; time += 1) ctx.fail(odd, new Error(`no ${time}`));
    },
    ends: 'dead',
    error: /no 999$/,
  },
  {
    what: 'fails all of them',
    act: ({ delays, ctx }) => {
      for (const delay of delays) ctx.fail(delay, new DiscardDelay('nothing left'));
    },
    ends: 'dead',
    others: 'dead',
  },
  {
    what: 'postpones all of them by throwing',
    act: () => {
      throw new PostponeDelay('1h');
    },
    ends: 'postponed',
    others: 'postponed',
  },
  {
    what: 'fails one and then throws: nothing was said',
    act: ({ odd, delays, ctx }) => {
      ctx.fail(odd, new DiscardDelay(delays.length > 1 ? 'in the batch' : 'alone'));
      if (delays.length > 1) throw new Error('after all');
    },
    ends: 'dead',
    error: /^alone$/,
  },
];
