import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
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

function chained(length: number): unknown {
  let value: unknown = 1;
  for (let link = 0; link < length; link += 1) {
    const inner = value;
    value = thenable((resolve) => resolve(inner));
  }
  return value;
}

/** What handlers answer, whether it is a promise or not. */
export const PROMISES: readonly OddHandler[] = [
  completes('answers a number', () => 42),
  completes('answers null', () => null),
  completes('answers a function', () => () => {}),
  completes('answers an error without throwing it', () => new Error('not thrown')),
  completes('answers a thenable that resolves', () => thenable((resolve) => resolve())),
  completes('answers a thenable that resolves twice', () =>
    thenable((resolve) => {
      resolve(1);
      resolve(2);
    }),
  ),
  completes('answers a thenable that resolves and then rejects', () =>
    thenable((resolve, reject) => {
      resolve(1);
      reject(new Error('too late'));
    }),
  ),
  completes('answers a thenable that resolves and then throws', () =>
    thenable((resolve) => {
      resolve(1);
      throw new Error('too late');
    }),
  ),
  completes('answers 1,000 thenables inside each other', () => chained(1_000)),
  fails('answers a thenable that rejects with nothing', /^undefined$/, () =>
    thenable((_resolve, reject) => reject()),
  ),
  fails('answers a thenable that rejects, then resolves', /^Error: first$/, () =>
    thenable((resolve, reject) => {
      reject(new Error('first'));
      resolve();
    }),
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
  fails('answers a promise that waits for itself', /Chaining cycle/, () => {
    const itself: Promise<unknown> = turn().then(() => itself);
    return itself;
  }),
  fails('answers a rejected promise', /^Error: rejected$/, () =>
    Promise.reject(new Error('rejected')),
  ),
  { what: 'never ends', act: () => never, ...TIMES_OUT },
  { what: 'answers a thenable that never settles', act: () => thenable(() => {}), ...TIMES_OUT },
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
