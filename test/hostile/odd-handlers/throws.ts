import { inspect } from 'node:util';
import { DiscardDelay, PostponeDelay } from 'nestjs-delay-queue';
import type { OddHandler } from './odd-handler.js';

const boom = (): never => {
  throw new Error('boom');
};

const trap = new Proxy({}, { get: () => boom });

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function cycle(): unknown {
  const self: Record<string, unknown> = {};
  self['self'] = self;
  return self;
}

/** An error on which reading one property throws. */
const unreadable = (property: string): Error =>
  Object.defineProperty(new Error('fine'), property, { get: boom });

const unlike = (given: object): Error => Object.assign(new Error('fine'), given);

function cyclicCause(): Error {
  const error = new Error('outer');
  error.cause = new Error('inner', { cause: error });
  return error;
}

function deepCause(): Error {
  let error = new Error('innermost');
  for (let depth = 0; depth < 10_000; depth += 1) error = new Error('outer', { cause: error });
  return error;
}

function deep(): unknown {
  let value: unknown = 1;
  for (let level = 0; level < 20_000; level += 1) value = [value];
  return value;
}

/** What the dead letter says when all that can be said is that something was thrown. */
const ANY = /./;

const throws = (what: string, make: () => unknown, error: RegExp = ANY): OddHandler => ({
  what: `throws ${what}`,
  act: () => {
    // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error -- hostile
    throw make();
  },
  ends: ['dead'],
  error,
});

/** Whatever can be thrown: a failed attempt, and a text that Postgres can store. */
export const THROWS: readonly OddHandler[] = [
  throws('null', () => null, /^null$/),
  throws('undefined', () => undefined, /^undefined$/),
  throws('an empty text', () => '', /^$/),
  throws('a text', () => 'just text', /^just text$/),
  throws('a text that Postgres cannot store', () => 'a\0b\uD800', /^a\uFFFDb\uFFFD$/),
  throws('0', () => 0, /^0$/),
  throws('NaN', () => NaN, /^NaN$/),
  throws('a bigint', () => 10n ** 100n, /^10+n$/),
  throws('true', () => true, /^true$/),
  throws('a symbol', () => Symbol('s'), /^Symbol\(s\)$/),
  throws('a symbol with NUL', () => Symbol('a\0b'), /^Symbol\(a\uFFFDb\)$/),
  throws('a function', () => boom, /Function: boom/),
  throws('a class', () => Map, /Map/),
  throws('a frozen error', () => Object.freeze(new Error('cold')), /^Error: cold$/),
  throws('a frozen object', () => Object.freeze({ code: 7 }), /code: 7/),
  throws('an object without a prototype', () => Object.create(null)),
  throws('a cycle', cycle, /Circular/),
  throws('a depth of 20,000', deep),
  throws('a list of a million', () => Array.from({ length: 1_000_000 }, () => 7), /more items/),
  throws('a Map of 100,000', () => new Map(Array.from({ length: 100_000 }, (_, n) => [n, n]))),
  throws('an object of 20,000 keys', () =>
    Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key${n}`, n])),
  ),
  throws('a Promise', () => Promise.resolve(1), /Promise/),
  // oxlint-disable-next-line unicorn/no-thenable -- hostile
  throws('an error with then', () => unlike({ then: boom }), /^Error: fine$/),
  throws('a revoked proxy of an error', () => revoked(new Error('gone'))),
  throws('a revoked proxy of a function', () => revoked(boom)),
  throws('a proxy whose every trap throws', () => new Proxy({}, trap)),
  throws('a proxy of an error whose every trap throws', () => new Proxy(new Error('x'), trap)),
  throws('an error with NUL', () => new Error('a\0b'), /^Error: a\uFFFDb$/),
  throws('an error with lone surrogates', () => new Error('\uDC00\uD800'), /\uFFFD\uFFFD$/),
  throws('an error of 10 MB', () => new Error('x'.repeat(10_000_000)), /^Error: x+…$/),
  throws(
    'an error of 10 MB of surrogates',
    () => new Error('😀'.repeat(2_500_000)),
    /^Error: 😀+…$/u,
  ),
  throws('an error whose message cannot be read', () => unreadable('message')),
  throws('an error whose name cannot be read', () => unreadable('name'), /^Error: fine$/),
  throws('an error whose stack cannot be read', () => unreadable('stack'), /^Error: fine$/),
  throws('an error whose cause cannot be read', () => unreadable('cause'), /^Error: fine$/),
  throws('an error whose message is an object', () => unlike({ message: { a: 1 } })),
  throws('an error whose name is a symbol', () => unlike({ name: Symbol('n') }), /^Error: fine$/),
  throws('an error whose name is 10 MB', () => unlike({ name: 'x'.repeat(10_000_000) }), /^x+…$/),
  throws('an error whose toString throws', () => unlike({ toString: boom }), /^Error: fine$/),
  throws('an object whose toString throws', () => ({ toString: boom })),
  throws('an object that cannot become a text', () => ({ [Symbol.toPrimitive]: boom })),
  throws('an object that throws when inspected', () => ({ [inspect.custom]: boom })),
  throws('an object whose toJSON throws', () => ({ toJSON: boom })),
  throws('a class that throws for its tag', () =>
    Object.defineProperty({}, Symbol.toStringTag, { get: boom }),
  ),
  throws('a cyclic cause', cyclicCause, /^Error: outer \(cause: Error: inner\)$/),
  throws('10,000 causes', deepCause, /^Error: outer \(cause: Error: outer\)$/),
  throws('a cause that is a revoked proxy', () => new Error('x', { cause: revoked({}) })),
  throws(
    'an AggregateError of 10,000',
    () =>
      new AggregateError(
        Array.from({ length: 10_000 }, (_, n) => new Error(`no ${n}`)),
        'all',
      ),
    /^AggregateError: all \(first of 10000: Error: no 0\)$/,
  ),
  throws('an AggregateError whose errors are a revoked proxy', () =>
    Object.assign(new AggregateError([], 'all'), { errors: revoked([]) }),
  ),
  throws('PostponeDelay of no duration', () => new PostponeDelay('soon'), /not "soon"/),
  throws('PostponeDelay of NaN', () => new PostponeDelay(NaN), /after: must be milliseconds/),
  throws('PostponeDelay of a billion years', () => new PostponeDelay(1e20), /100 years/),
  throws('PostponeDelay whose time cannot be read', () =>
    Object.defineProperty(new PostponeDelay(1), 'after', { get: boom }),
  ),
  {
    ...throws('DiscardDelay of an object', () => new DiscardDelay({ toString: boom } as never)),
    what: 'throws DiscardDelay of an object that cannot become a text',
  },
  throws('DiscardDelay whose reason cannot be read', () =>
    Object.defineProperty(new DiscardDelay('x'), 'reason', { get: boom }),
  ),
  { ...throws('PostponeDelay', () => new PostponeDelay('1h')), ends: ['postponed'] },
  {
    what: 'runs out of stack',
    act: function again(): unknown {
      return [again()];
    },
    ends: ['dead'],
    error: /^RangeError/,
  },
];
