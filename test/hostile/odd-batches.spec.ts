import { expect, it } from '@jest/globals';
import {
  type Delay,
  type DelayBatchContext,
  DelayInvalidError,
  DiscardDelay,
  PostponeDelay,
} from 'nestjs-delay-queue';
import { batchHandler, fencedBatchHandler, signal } from '../support/delay-node.js';
import { ODD_OPTIONS, OddNode } from './odd-node.js';

interface Reach {
  /** All of the call, the odd one among them. */
  delays: Delay[];
  odd: Delay;
  ctx: DelayBatchContext;
}

type Act = (reach: Reach) => unknown;

let act: Act;
/** A call that has the only place until all of the next batch are due. */
let first = { begun: signal(), end: signal() };

const run = (delays: Delay[], ctx: DelayBatchContext): unknown => {
  if (delays.some(({ key }) => key === 'first')) {
    first.begun.resolve();
    return first.end.promise;
  }
  const odd = delays.find(({ key }) => key === 'odd');
  return odd && act({ delays, odd, ctx });
};

const options = { ...ODD_OPTIONS, batch: 10 };
const node = new OddNode({
  providers: [
    batchHandler('test.plain', run as () => void, options),
    fencedBatchHandler('test.transactional', run as () => void, options),
  ],
});

const boom = (): never => {
  throw new Error('boom');
};

/** What cannot be said is refused with the library's own error, and the batch goes on. */
const REFUSED: ((reach: Reach) => void)[] = [
  ({ ctx, odd }) => ctx.fail(odd.id as never, new Error('an id')),
  ({ ctx, delays }) => ctx.fail(delays as never, new Error('the list')),
  ({ ctx, odd }) => ctx.fail({ ...odd, id: '999999999' }, new Error('of another batch')),
  ({ ctx, odd }) => ctx.fail(Object.assign({ ...odd }, { id: '0' }), new Error('another id')),
  ({ ctx }) => ctx.fail({ id: { toString: boom } } as never, new Error('an id that is no text')),
  ({ ctx }) => {
    const unreadable = Object.defineProperty({}, 'id', { enumerable: true, get: boom });
    ctx.fail(unreadable as never, new Error('an id that cannot be read'));
  },
  ({ ctx, odd }) => ctx.postpone(odd, undefined as never),
  ({ ctx, odd }) => ctx.postpone(odd, 1e20),
];

function isRefused(say: () => void): void {
  try {
    say();
  } catch (error) {
    if (error instanceof DelayInvalidError) return;
    throw error;
  }
  throw new Error('it was not refused');
}

const DIES = (says: RegExp, odd: Act) => ({ ends: 'dead', says, odd }) as const;
const COMPLETES = (odd: Act) => ({ ends: 'completed', says: /^none$/, odd }) as const;

/** How the odd one ends, and what its dead letter says; the others of its batch complete. */
const CASES = {
  'says what cannot be said': COMPLETES((reach) => {
    for (const say of REFUSED) isRefused(() => say(reach));
  }),
  'fails a copy of its delay, by a function it took out of its context': DIES(
    /taken out/,
    // oxlint-disable-next-line typescript/unbound-method -- hostile
    ({ odd, ctx: { fail } }) => fail(structuredClone(odd), new Error('taken out')),
  ),
  'fails one with what is no error': DIES(/^undefined$/, ({ odd, ctx }) =>
    ctx.fail(odd, undefined),
  ),
  'changes its mind: the last word counts': DIES(/^third$/, ({ odd, ctx }) => {
    ctx.fail(odd, new Error('first'));
    ctx.postpone(odd, '1h');
    ctx.fail(odd, new DiscardDelay('third'));
  }),
  'fails one and then throws: nothing was said': DIES(/^alone$/, ({ odd, delays, ctx }) => {
    ctx.fail(odd, new DiscardDelay(delays.length > 1 ? 'in the batch' : 'alone'));
    if (delays.length > 1) throw new Error('after all');
  }),
  'empties its list, having put others in it': COMPLETES(({ delays, odd }) => {
    for (const index of delays.keys()) delays[index] = { ...odd, id: '999999999', key: 'x' };
    delays.splice(1);
  }),
  'takes names, keys and ids of others, and freezes all it gets': COMPLETES(({ delays, ctx }) => {
    for (const delay of delays) {
      Object.assign(delay, { id: '1', name: 'test.other', key: 'x' });
      Object.freeze(delay);
    }
    Object.freeze(delays);
    Object.freeze(ctx);
  }),
  'replaces what it could say': COMPLETES(({ ctx }) => {
    Object.assign(ctx, { fail: boom, postpone: boom, manager: null });
  }),
  // oxlint-disable-next-line unicorn/no-thenable -- hostile
  'answers a thenable that throws': DIES(/boom/, () => ({ then: boom })),
};

const KINDS = ['plain', 'transactional'] as const;

const ofBoth = <Case>(cases: Record<string, Case>) =>
  KINDS.flatMap((kind) => Object.entries(cases).map(([what, of]) => ({ kind, what, of })));

async function fires(name: `test.${string}`, odd: Act): Promise<void> {
  act = odd;
  first = { begun: signal(), end: signal() };
  await node.delays.schedule(name, null, { after: 0, key: 'first' });
  await first.begun.promise;
  const keys = ['one', 'odd', 'two', 'three'];
  await node.delays.scheduleMany(keys.map((key) => ({ name, payload: null, key, after: 0 })));
  // By the database's clock: what is claimed now is claimed together.
  await node.until<{ due: boolean }>(
    `SELECT bool_and(wake_at <= clock_timestamp()) AS due FROM delay_queue.delay WHERE name = '${name}'`,
    ([row]) => row?.due === true,
  );
  first.end.resolve();
}

/** The others end like that, at no attempt's cost. */
async function othersEnd(event: string): Promise<void> {
  for (const key of ['one', 'two', 'three']) {
    expect(await node.endOf(key)).toMatchObject({ event, attempt: 1 });
  }
}

it.each(ofBoth(CASES))(
  'a $kind batch handler that $what: that one is $of.ends, and it costs the others no attempt',
  async ({ kind, of: { ends, says, odd } }) => {
    await fires(`test.${kind}`, odd);
    const { event, error = 'none' } = await node.endOf('odd');
    expect(event).toBe(ends);
    expect(error).toMatch(says);
    await othersEnd('completed');
    await node.isHealthy(`test.${kind}`);
  },
);

const ALL: Record<string, [event: 'dead' | 'postponed', act: Act]> = {
  'discards all of them': [
    'dead',
    ({ delays, ctx }) => {
      for (const delay of delays) ctx.fail(delay, new DiscardDelay('nothing left'));
    },
  ],
  'postpones all of them by throwing': [
    'postponed',
    () => {
      throw new PostponeDelay('1h');
    },
  ],
};

it.each(ofBoth(ALL))('a $kind batch handler that $what', async ({ kind, of: [event, odd] }) => {
  await fires(`test.${kind}`, odd);
  expect(await node.endOf('odd')).toMatchObject({ event });
  await othersEnd(event);
  await node.isHealthy(`test.${kind}`);
});
