/** A payload that must be refused, and where and with what the error must point. Made anew for each use. */
export interface HostilePayload {
  what: string;
  make: () => unknown;
  field: string;
  why: string;
}

const boom = (): never => {
  throw new Error('boom');
};

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

function cycle(): unknown {
  const start: Record<string, unknown> = {};
  start['self'] = { again: start };
  return start;
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** An object whose every property is another one like it. */
const endless = (): object =>
  new Proxy(
    {},
    {
      ownKeys: () => ['deeper'],
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      get: endless,
    },
  );

const getter = (get: () => unknown): object =>
  Object.defineProperty({}, 'a', { enumerable: true, get });

class Money {
  constructor(readonly cents: number) {}
}
class Tags extends Array<string> {}

const at = (field: string, what: string, make: () => unknown, why: string): HostilePayload => ({
  what,
  make,
  field,
  why,
});

const LARGE = 'larger than 65536 bytes';
const UNREADABLE = 'cannot be read';

export const PAYLOADS: readonly HostilePayload[] = [
  at('payload.items[1].note', 'NUL', () => ({ items: [0, { note: 'a\0b' }] }), 'contains NUL'),
  at('payload["a\\u0000b"]', 'NUL in a key', () => ({ 'a\0b': 1 }), 'the key contains NUL'),
  at('payload[0]', 'a lone high surrogate', () => ['\uD800'], 'lone surrogate'),
  at('payload["\\udca5"]', 'a lone surrogate in a key', () => ({ '\uDCA5': 1 }), 'lone surrogate'),
  at(`payload${'[0]'.repeat(64)}`, 'a depth of 20,000', () => nested(20_000), 'deeper than 64'),
  at(`payload${'.deeper'.repeat(64)}`, 'a proxy without end', endless, 'deeper than 64'),
  at('payload.n', 'a bigint', () => ({ n: 1n }), 'send it as a string'),
  at('payload.n', '2^53', () => ({ n: 2 ** 53 }), 'send it as a string'),
  at('payload.items[1].n', 'NaN', () => ({ items: [1, { n: NaN }] }), 'is NaN'),
  at('payload.a.__proto__', '__proto__', () => JSON.parse('{"a":{"__proto__":1}}'), 'prototype'),
  at('payload.self.again', 'a cycle', cycle, 'cycle'),
  at('payload', '10 MB of text', () => 'x'.repeat(10_000_000), LARGE),
  at('payload', 'numbers that grow', () => Array.from({ length: 9_000 }, () => 5e-324), LARGE),
  at('payload', 'a sparse array of 4 billion', () => Object.assign([], { length: 4e9 }), LARGE),
  at('payload', 'undefined', () => undefined, 'undefined'),
  at('payload.a', 'undefined inside', () => ({ a: undefined }), 'undefined'),
  at('payload', 'a symbol', () => Symbol('s'), 'is a symbol'),
  at('payload', 'a symbol as a key', () => ({ [Symbol('s')]: 1 }), 'symbol as a key'),
  at('payload.at', 'a Date', () => ({ at: new Date(0) }), 'toISOString'),
  at('payload', 'a Map', () => new Map([['a', 1]]), 'Object.fromEntries'),
  at('payload', 'a Set', () => new Set([1]), '[...set]'),
  at('payload', 'a Promise', () => Promise.resolve(1), 'await it first'),
  at('payload', 'a Buffer', () => Buffer.from('a'), 'base64'),
  at('payload', 'an ArrayBuffer', () => new ArrayBuffer(8), 'base64'),
  at('payload', 'a boxed number', () => new Number(1), 'an instance of Number'),
  at('payload', 'an instance', () => new Money(1), 'an instance of Money'),
  at('payload', 'a subclass of Array', () => Tags.of('a'), 'an instance of Tags'),
  at('payload', 'an object that inherits', () => Object.create({ a: 1 }), 'an instance of Object'),
  at('payload', 'a strange prototype', () => Object.create(Object.create(null)), 'some class'),
  at('payload[1]', 'a hole in an array', () => [1, , 3], 'hole'), // oxlint-disable-line no-sparse-arrays
  at(
    'payload',
    'an array with a property',
    () => Object.assign([1], { n: 1 }),
    'beside its elements',
  ),
  at(
    'payload.a',
    'a hidden property',
    () => Object.defineProperty({}, 'a', { value: 1 }),
    'enumerable',
  ),
  at('payload.toJSON', 'toJSON', () => ({ toJSON: boom }), 'is a function'),
  at('payload.a', 'a getter that throws', () => getter(boom), UNREADABLE),
  at(
    'payload.a',
    'a getter that throws a revoked proxy',
    () =>
      getter(() => {
        throw revoked(new Error('x'));
      }),
    UNREADABLE,
  ),
  at('payload', 'a revoked proxy of an object', () => revoked({}), UNREADABLE),
  at('payload', 'a revoked proxy of an array', () => revoked([]), UNREADABLE),
  at('payload', 'a proxy without keys', () => new Proxy({}, { ownKeys: boom }), UNREADABLE),
  at(
    'payload.a',
    'a proxy that throws for its values',
    () => new Proxy({ a: 1 }, { get: boom }),
    UNREADABLE,
  ),
  at(`payload["${'k'.repeat(40)}…"]`, 'a long key', () => ({ ['k'.repeat(200)]: NaN }), 'NaN'),
];
