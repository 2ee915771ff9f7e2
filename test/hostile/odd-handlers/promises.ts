import { setTimeout as pause } from 'node:timers/promises';
import { TIMES_OUT, type OddHandler } from './odd-handler.js';

type Settle = (value?: unknown) => void;
type Then = (resolve: Settle, reject: Settle) => unknown;

const never = new Promise<never>(() => {});

const completes = (what: string, act: OddHandler['act']): OddHandler => ({
  what,
  act,
  ends: ['completed'],
});

const fails = (what: string, error: RegExp, act: OddHandler['act']): OddHandler => ({
  what,
  act,
  ends: ['dead'],
  error,
});

// oxlint-disable-next-line unicorn/no-thenable -- hostile
const thenable = (then: Then): object => ({ then });

/** What handlers answer, whether it is a promise or not. */
export const PROMISES: readonly OddHandler[] = [
  completes('answers null', () => null),
  completes('answers an error without throwing it', () => new Error('not thrown')),
  completes('answers a thenable that resolves', () => thenable((resolve) => resolve())),
  fails('answers a thenable that rejects with nothing', /^undefined$/, () =>
    thenable((_resolve, reject) => reject()),
  ),
  fails('answers a thenable that throws', /^Error: in then$/, () =>
    thenable(() => {
      throw new Error('in then');
    }),
  ),
  fails('answers what throws when asked for then', /^Error: no then$/, () =>
    // oxlint-disable-next-line unicorn/no-thenable -- hostile
    Object.defineProperty({}, 'then', {
      get: () => {
        throw new Error('no then');
      },
    }),
  ),
  fails('answers a revoked proxy', /revoked/, () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  }),
  { what: 'never ends', act: () => never, ...TIMES_OUT },
  {
    what: 'rejects when its time is over',
    act: async () => {
      await pause(400);
      throw new Error('late');
    },
    ...TIMES_OUT,
  },
  {
    what: 'throws what it hears from its signal',
    act: ({ ctx }) =>
      new Promise((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error));
      }),
    ...TIMES_OUT,
  },
  {
    what: 'takes its signal for a reason to succeed',
    act: ({ ctx }) =>
      new Promise<void>((resolve) => {
        ctx.signal.addEventListener('abort', () => resolve());
      }),
    ...TIMES_OUT,
  },
];
