import type { Kind } from '../odd-handlers/odd-handler.js';
import type { OddBatch } from './odd-batch.js';
import { WORDS } from './words.js';

/** An odd batch handler under the name that its delays have. */
export interface NamedOddBatch extends OddBatch {
  kind: Kind;
  name: `test.${string}`;
}

const boom = (): never => {
  throw new Error('boom');
};

const completes = (what: string, act: OddBatch['act']): OddBatch => ({
  what,
  act,
  ends: 'completed',
});

/** Bad manners with what it gets, and with what it gives. */
const MANNERS: readonly OddBatch[] = [
  completes('empties its list', ({ delays }) => delays.splice(0)),
  completes('puts others in its list', ({ delays, odd }) => {
    for (const index of delays.keys()) delays[index] = { ...odd, id: '999999999', key: 'x' };
  }),
  completes('makes its list ten million long', ({ delays }) => (delays.length = 10_000_000)),
  completes('freezes all it gets', ({ delays, ctx }) => {
    for (const delay of delays) Object.freeze(delay);
    Object.freeze(delays);
    Object.freeze(ctx);
  }),
  completes('takes names, keys and ids of others', ({ delays }) => {
    for (const delay of delays) Object.assign(delay, { id: '1', name: 'test.other', key: 'x' });
  }),
  completes('replaces what it could say', ({ ctx }) => {
    Object.assign(ctx, { fail: boom, postpone: boom, manager: null });
  }),
  completes('answers its list', ({ delays }) => delays),
  {
    what: 'answers a thenable that throws',
    // oxlint-disable-next-line unicorn/no-thenable -- hostile
    act: () => ({ then: boom }),
    ends: 'dead',
    error: /boom/,
  },
  {
    what: 'throws nothing at all',
    act: () => {
      // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error -- hostile
      throw undefined;
    },
    ends: 'dead',
    error: /^undefined$/,
  },
  {
    what: 'never returns',
    act: () => new Promise(() => {}),
    ends: 'dead',
    timeoutMs: 250,
    error: /DelayTimeoutError/,
  },
];

/** All of them, each as a plain and as a transactional one where it can be both. */
export const ODD_BATCHES: readonly NamedOddBatch[] = [...WORDS, ...MANNERS].flatMap((odd, number) =>
  (odd.kinds ?? (['plain', 'transactional'] as const)).map((kind) => ({
    ...odd,
    what: `${kind} batch: ${odd.what}`,
    kind,
    name: `test.batch.${kind}.${number}` as const,
  })),
);
