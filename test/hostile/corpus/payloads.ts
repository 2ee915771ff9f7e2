import type { Case } from '../support/every-case.js';

/** A payload that must be refused, and where the error must point. Made anew for each use. */
export interface HostilePayload extends Case {
  make: () => unknown;
  field: string;
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

const at = (field: string, what: string, make: () => unknown): HostilePayload => ({
  what,
  make,
  field,
});

export const PAYLOADS: readonly HostilePayload[] = [
  at('payload.text', 'NUL in a text', () => ({ text: 'a\0b' })),
  at('payload["a\\u0000b"]', 'NUL in a key', () => ({ 'a\0b': 1 })),
  at('payload[0]', 'a lone high surrogate', () => ['\uD800']),
  at('payload[0]', 'a lone low surrogate', () => ['\uDC00 after']),
  at('payload["\\udca5"]', 'a lone surrogate in a key', () => ({ '\uDCA5': 1 })),
  at(`payload${'[0]'.repeat(64)}`, 'a depth of 65', () => nested(65)),
  at(`payload${'[0]'.repeat(64)}`, 'a depth of 20,000', () => nested(20_000)),
  at(`payload${'.deeper'.repeat(64)}`, 'a proxy without end', endless),
  at('payload.n', 'a bigint', () => ({ n: 1n })),
  at('payload.n', '2^53', () => ({ n: 2 ** 53 })),
  at('payload.n', '2^53 + 1', () => JSON.parse('{"n": 9007199254740993}')),
  at('payload.n', '-2^53', () => ({ n: -(2 ** 53) })),
  at('payload.n', 'the largest double', () => ({ n: Number.MAX_VALUE })),
  at('payload.n', 'NaN', () => ({ n: NaN })),
  at('payload[1]', 'Infinity', () => [1, Infinity]),
  at('payload', '1e309 out of JSON', () => JSON.parse('1e309')),
  at('payload.__proto__', '__proto__', () => JSON.parse('{"__proto__": {"admin": true}}')),
  at('payload.a.__proto__', '__proto__ inside', () => JSON.parse('{"a":{"__proto__":1}}')),
  at('payload.self.again', 'a cycle', cycle),
  at('payload', '10 MB of text', () => 'x'.repeat(10_000_000)),
  at('payload', '10 MB in small pieces', () =>
    Array.from({ length: 100_000 }, () => 'x'.repeat(100)),
  ),
  at('payload', 'a million keys', () =>
    Object.fromEntries(Array.from({ length: 1e6 }, (_, n) => [n, 0])),
  ),
  at('payload', 'one byte too many', () => 'x'.repeat(65_535)),
  at('payload', 'numbers that grow when they are written out', () =>
    Array.from({ length: 9_000 }, () => 5e-324),
  ),
  at('payload', 'too many bytes in few characters', () => 'ü'.repeat(33_000)),
  at('payload', 'text that grows when it is quoted', () => '\u0001'.repeat(20_000)),
  at('payload', 'undefined', () => undefined),
  at('payload.a', 'undefined inside', () => ({ a: undefined })),
  at('payload', 'a function', () => boom),
  at('payload.a', 'a function inside', () => ({ a: boom })),
  at('payload', 'a symbol', () => Symbol('s')),
  at('payload', 'a symbol as a key', () => ({ [Symbol('s')]: 1 })),
  at('payload.at', 'a Date', () => ({ at: new Date(0) })),
  at('payload', 'a Map', () => new Map([['a', 1]])),
  at('payload', 'a Set', () => new Set([1])),
  at('payload', 'a Promise', () => Promise.resolve(1)),
  at('payload', 'a Buffer', () => Buffer.from('a')),
  at('payload', 'an ArrayBuffer', () => new ArrayBuffer(8)),
  at('payload', 'an Error', () => new Error('payload')),
  at('payload', 'a RegExp', () => /x/),
  at('payload', 'a boxed number', () => new Number(1)),
  at('payload', 'an instance', () => new Money(1)),
  at('payload', 'a subclass of Array', () => Tags.of('a')),
  at('payload', 'an object that inherits', () => Object.create({ a: 1 })),
  at('payload', 'an iterator', () => [1].values()),
  at('payload[1]', 'a hole in an array', () => [1, , 3]), // oxlint-disable-line no-sparse-arrays
  at('payload', 'a sparse array of 4 billion', () => Object.assign([], { length: 4e9 })),
  at('payload', 'an array with a property', () => Object.assign([1], { total: 1 })),
  at('payload.a', 'a hidden property', () => Object.defineProperty({}, 'a', { value: 1 })),
  at('payload.toJSON', 'toJSON', () => ({ toJSON: () => 1 })),
  at('payload.toJSON', 'toJSON that throws', () => ({ toJSON: boom })),
  at('payload.a', 'a getter that throws', () => getter(boom)),
  at('payload.a', 'a getter that throws nothing at all', () =>
    getter(() => {
      // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error -- hostile
      throw undefined;
    }),
  ),
  at('payload.a', 'a getter that throws a revoked proxy', () =>
    getter(() => {
      throw revoked(new Error('x'));
    }),
  ),
  at('payload.a', 'a getter that calls itself without end', () =>
    Object.defineProperty({}, 'a', {
      enumerable: true,
      get(this: { a: unknown }) {
        return this.a;
      },
    }),
  ),
  at('payload', 'a revoked proxy of an object', () => revoked({})),
  at('payload', 'a revoked proxy of an array', () => revoked([])),
  at('payload', 'a proxy that throws for its keys', () => new Proxy({}, { ownKeys: boom })),
  at(
    'payload',
    'a proxy that throws for its prototype',
    () => new Proxy({}, { getPrototypeOf: boom }),
  ),
  at('payload.a', 'a proxy that throws for its values', () => new Proxy({ a: 1 }, { get: boom })),
  at('payload', 'a class whose constructor throws when read', () =>
    Object.create(Object.defineProperty(Object.create({}), 'constructor', { get: boom })),
  ),
];
