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

/**
 * Whatever can be thrown: a failed attempt, and a text that Postgres can store. How `describeError` says all the
 * others is in `test/unit/delay/error-text.spec.ts`.
 */
export const THROWS: readonly OddHandler[] = [
  throws('null', () => null, /^null$/),
  throws('undefined', () => undefined, /^undefined$/),
  throws('an empty text', () => '', /^$/),
  throws('a text that Postgres cannot store', () => 'a\0b\uD800', /^a\uFFFDb\uFFFD$/),
  throws('a frozen error', () => Object.freeze(new Error('cold')), /^Error: cold$/),
  throws('a cycle', cycle, /Circular/),
  throws('an object of 20,000 keys', () =>
    Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`key${n}`, n])),
  ),
  // oxlint-disable-next-line unicorn/no-thenable -- hostile
  throws('an error with then', () => unlike({ then: boom }), /^Error: fine$/),
  throws('a revoked proxy of an error', () => revoked(new Error('gone'))),
  throws('a proxy of an error whose every trap throws', () => new Proxy(new Error('x'), trap)),
  throws('an error of 10 MB', () => new Error('x'.repeat(10_000_000)), /^Error: x+…$/),
  throws('an error whose message cannot be read', () => unreadable('message')),
  throws('an error whose name cannot be read', () => unreadable('name'), /^Error: fine$/),
  throws('an object that cannot become a text', () => ({ [Symbol.toPrimitive]: boom })),
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
