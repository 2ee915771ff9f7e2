/* oxlint-disable unicorn/no-thenable -- hostile */
import { runInNewContext } from 'node:vm';

/** What a user's function may do instead of answering as it should. */
export interface OddAnswer {
  /** What comes of it in the end: the right answer, an error, or nothing at all. */
  ends: 'right' | 'wrong' | 'never';
  /** @param right what the function should answer */
  answer: (right: unknown) => unknown;
}

const boom = (): never => {
  throw new Error('boom');
};

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

type Tell = (value: unknown) => void;

const thenable = (then: (resolve: Tell, reject: Tell) => unknown): object => ({ then });

/** Each answers the next, the last of them the value. */
const chained = (value: unknown, length: number): unknown =>
  length === 0 ? value : thenable((resolve) => resolve(chained(value, length - 1)));

class OwnPromise<Value> extends Promise<Value> {}

const withOwn = (name: string, value: unknown, property: PropertyDescriptor): unknown =>
  Object.defineProperty(Promise.resolve(value), name, property);

/** Whatever can be thrown. */
export const THROWN: Readonly<Record<string, () => unknown>> = {
  nothing: () => undefined,
  null: () => null,
  'a text': () => 'boom',
  'a symbol': () => Symbol('boom'),
  'a function': () => boom,
  'a revoked proxy': () => revoked(new Error('gone')),
  'an error whose getters throw': () =>
    Object.defineProperties(new Error('x'), {
      message: { get: boom },
      stack: { get: boom },
      cause: { get: boom },
      code: { get: boom },
      name: { get: boom },
    }),
  'an error of a frozen class without a prototype': () =>
    Object.freeze(Object.assign(Object.create(null) as object, { message: 'boom' })),
  'an error whose texts are objects': () => ({ message: { toString: null }, name: [], stack: 5 }),
  'an error that causes itself': () => {
    const error = new Error('boom');
    error.cause = error;
    return error;
  },
  'a thenable': () => thenable((resolve) => resolve(1)),
  'a thenable that throws': () => thenable(boom),
  'a rejected promise': () => {
    const rejected = Promise.reject(new Error('inside'));
    rejected.catch(() => {});
    return rejected;
  },
  'a proxy whose traps throw': () =>
    new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom, ownKeys: boom }),
};

const throws = Object.entries(THROWN).flatMap(([what, make]): [string, OddAnswer][] => [
  [
    `throws ${what}`,
    {
      ends: 'wrong',
      answer: () => {
        throw make();
      },
    },
  ],
  [`rejects with ${what}`, { ends: 'wrong', answer: () => Promise.reject(make()) }],
  [
    `answers a thenable that rejects with ${what}`,
    { ends: 'wrong', answer: () => thenable((_, reject) => reject(make())) },
  ],
]);

const right = (answer: OddAnswer['answer']): OddAnswer => ({ ends: 'right', answer });
const wrong = (answer: OddAnswer['answer']): OddAnswer => ({ ends: 'wrong', answer });

/** Of each function that may answer a promise. */
export const ANSWERS: Readonly<Record<string, OddAnswer>> = {
  'a promise': right((value) => Promise.resolve(value)),
  'a minimal thenable': right((value) => thenable((resolve) => resolve(value))),
  'a thenable that tells later': right((value) =>
    thenable((resolve) => setTimeout(resolve, 5, value)),
  ),
  'a thenable that tells twice': right((value) =>
    thenable((resolve, reject) => {
      resolve(value);
      resolve({ other: true });
      reject(new Error('too late'));
    }),
  ),
  'a thenable that throws after it has told': right((value) =>
    thenable((resolve) => {
      resolve(value);
      boom();
    }),
  ),
  'a thenable that takes back what it has told': right((value) =>
    thenable((resolve, reject) => {
      resolve(thenable((told) => setTimeout(told, 5, value)));
      reject(new Error('too late'));
    }),
  ),
  'a thenable that throws': wrong(() => thenable(boom)),
  'a thenable that answers ten thenables': right((value) => chained(value, 10)),
  'a thenable that answers a promise': right((value) =>
    thenable((resolve) => resolve(Promise.resolve(value))),
  ),
  'a thenable that answers a rejected promise': wrong(() =>
    thenable((resolve) => resolve(Promise.reject(new Error('boom')))),
  ),
  'a thenable that answers itself': wrong(() => {
    const circle: object = thenable((resolve) => resolve(circle));
    return circle;
  }),
  'a promise of a thenable that answers itself': wrong(() => {
    const circle: object = thenable((resolve) => resolve(circle));
    return thenable((resolve) => resolve(circle));
  }),
  'a thenable that never tells': { ends: 'never', answer: () => thenable(() => {}) },
  'a promise that never ends': { ends: 'never', answer: () => new Promise(() => {}) },
  'a frozen thenable without a prototype': right((value) =>
    Object.freeze(
      Object.assign(
        Object.create(null) as object,
        thenable((resolve) => resolve(value)),
      ),
    ),
  ),
  'a function that is a thenable': right((value) =>
    Object.assign(
      () => {},
      thenable((resolve) => resolve(value)),
    ),
  ),
  'something whose then throws when it is read': wrong(() =>
    Object.defineProperty({}, 'then', { get: boom }),
  ),
  'something whose then is there only once': right((value) => {
    let times = 0;
    return Object.defineProperty({}, 'then', {
      get: () => (times++ === 0 ? (resolve: Tell) => resolve(value) : boom()),
    });
  }),
  'a promise with a then that throws': wrong((value) => withOwn('then', value, { value: boom })),
  'a promise with a catch that throws': right((value) => withOwn('catch', value, { value: boom })),
  'a promise without a catch': right((value) => withOwn('catch', value, { value: undefined })),
  'a promise whose constructor cannot be read': wrong((value) =>
    withOwn('constructor', value, { get: boom }),
  ),
  'a promise of a class of its own': right((value) => OwnPromise.resolve(value)),
  'a promise of another realm': right((value) =>
    (runInNewContext('(value) => Promise.resolve(value)') as (value: unknown) => unknown)(value),
  ),
  'a proxy of a promise': wrong((value) => new Proxy(Promise.resolve(value), {})),
  'a revoked proxy': wrong(() => revoked({})),
  'a proxy whose traps throw': wrong(() => new Proxy({}, { get: boom, has: boom, ownKeys: boom })),
  ...Object.fromEntries(throws),
};

const issues = (given: unknown): object => ({ issues: given });

/** What a schema may answer instead of a result that fits. */
export const RESULTS: Readonly<Record<string, () => unknown>> = {
  'no result': () => undefined,
  'null as a result': () => null,
  'a text as a result': () => 'fits',
  'a revoked result': () => revoked({}),
  'issues that cannot be read': () => Object.defineProperty({}, 'issues', { get: boom }),
  'a value that cannot be read': () => Object.defineProperty({}, 'value', { get: boom }),
  'no issue': () => issues([]),
  'a text for issues': () => issues('does not fit'),
  'issues of null': () => issues([null, undefined, 5]),
  'issues without an end': () => issues(new Proxy([], { get: () => Infinity })),
  'issues as a revoked proxy': () => issues(revoked([])),
  'an issue as a revoked proxy': () => issues([revoked({})]),
  'an issue whose message cannot be read': () =>
    issues([Object.defineProperty({}, 'message', { get: boom })]),
  'an issue whose message is no text': () => issues([{ message: { toString: null } }]),
  'an issue with a symbol and an object in its path': () =>
    issues([{ message: 'x', path: [Symbol('s'), { key: { toString: null } }, null] }]),
  'an issue with a path without an end': () =>
    issues([
      { message: 'x', path: new Proxy([], { get: (_, at) => (at === 'length' ? 1e9 : 'a') }) },
    ]),
  'an issue whose path is a text': () => issues([{ message: 'x', path: 'a.b' }]),
};
