import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { DelayInvalidError } from '../../../src/delay-queue/delay/delay.errors.js';
import { encodePayload, PAYLOAD_BYTES_MAX } from '../../../src/delay-queue/validation/payload.js';

const encode = (payload: unknown, bytesMax = PAYLOAD_BYTES_MAX): string =>
  encodePayload(payload, bytesMax);

class Money {
  constructor(readonly cents: number) {}
}

class Tags extends Array<string> {}

describe('encodePayload', () => {
  it.each<[unknown, string]>([
    [null, 'null'],
    [true, 'true'],
    ['', '""'],
    ['ä"\n💥\u2028', JSON.stringify('ä"\n💥\u2028')],
    [0, '0'],
    [1.5e-300, '1.5e-300'],
    [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    [Number.MIN_SAFE_INTEGER, '-9007199254740991'],
    [[], '[]'],
    [{}, '{}'],
    [
      { orderId: '42', items: [{ price: 1.5 }, null] },
      '{"orderId":"42","items":[{"price":1.5},null]}',
    ],
    [
      { constructor: 1, toString: 'x', toJSON: 'text', '': 0 },
      '{"constructor":1,"toString":"x","toJSON":"text","":0}',
    ],
    [Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    [structuredClone({ a: [{}] }), '{"a":[{}]}'],
    [runInNewContext('({ a: [1, { b: 2 }] })'), '{"a":[1,{"b":2}]}'],
    [Object.freeze({ a: 1 }), '{"a":1}'],
    [
      {
        get a() {
          return 1;
        },
      },
      '{"a":1}',
    ],
  ])('payload no. %# becomes %p', (payload, json) => {
    expect(encode(payload)).toBe(json);
  });

  it('-0 becomes 0, the only zero of jsonb', () => {
    expect(encode([-0])).toBe('[0]');
  });

  it('the same object twice is no cycle', () => {
    const address = { city: 'Berlin' };
    expect(JSON.parse(encode({ from: address, to: address }))).toEqual({
      from: address,
      to: address,
    });
  });

  it.each<[string, unknown, string, string]>([
    ['NUL', { items: [0, { note: 'a\0b' }] }, 'payload.items[1].note', 'contains NUL'],
    ['NUL in a key', { 'a\0b': 1 }, String.raw`payload["a\u0000b"]`, 'the key contains NUL'],
    ['a lone surrogate', ['\uD83D'], 'payload[0]', 'lone surrogate'],
    ['a lone surrogate in a key', { '\uDCA5': 1 }, String.raw`payload["\udca5"]`, 'lone surrogate'],
    ['bigint', { total: 10n }, 'payload.total', 'send it as a string'],
    ['2^53', { id: 2 ** 53 }, 'payload.id', 'send it as a string'],
    ['-2^53', { id: -(2 ** 53) }, 'payload.id', 'send it as a string'],
    ['1e21', [[1e21]], 'payload[0][0]', 'send it as a string'],
    ['NaN', { items: [1, 2, 3, { price: NaN }] }, 'payload.items[3].price', 'is NaN'],
    ['Infinity', Infinity, 'payload', 'is Infinity'],
    ['__proto__', JSON.parse('{"a":{"__proto__":{"b":1}}}'), 'payload.a.__proto__', 'prototype'],
    ['undefined', undefined, 'payload', 'undefined'],
    ['an undefined property', { a: { b: undefined } }, 'payload.a.b', 'undefined'],
    ['an undefined element', [1, undefined], 'payload[1]', 'undefined'],
    ['a hole', [1, , 3], 'payload[1]', 'hole'], // oxlint-disable-line no-sparse-arrays
    ['a huge sparse array', { a: sparse(4e9) }, 'payload', 'larger than'],
    [
      'an array with a property',
      Object.assign([1], { total: 1 }),
      'payload',
      'beside its elements',
    ],
    ['a function', { a: () => 1 }, 'payload.a', 'is a function'],
    ['a symbol', { a: Symbol('s') }, 'payload.a', 'is a symbol'],
    ['a symbol key', { a: { [Symbol('s')]: 1 } }, 'payload.a', 'symbol as a key'],
    ['a Date', { a: new Date() }, 'payload.a', 'toISOString'],
    ['a Map', { a: new Map() }, 'payload.a', 'Object.fromEntries'],
    ['a Set', { a: new Set() }, 'payload.a', '[...set]'],
    ['a Promise', { a: Promise.resolve(1) }, 'payload.a', 'await it first'],
    ['a Buffer', { a: Buffer.from('a') }, 'payload.a', 'base64'],
    ['a typed array', { a: new Uint8Array(1) }, 'payload.a', 'base64'],
    ['an ArrayBuffer', { a: new ArrayBuffer(1) }, 'payload.a', 'base64'],
    ['an instance', { a: new Money(1) }, 'payload.a', 'an instance of Money'],
    ['an Error', { a: new Error('x') }, 'payload.a', 'an instance of Error'],
    ['a RegExp', { a: /x/ }, 'payload.a', 'an instance of RegExp'],
    ['a boxed text', { a: new String('x') }, 'payload.a', 'an instance of String'],
    ['a WeakMap', { a: new WeakMap() }, 'payload.a', 'an instance of WeakMap'],
    ['an array subclass', { a: Tags.of('x') }, 'payload.a', 'an instance of Tags'],
    ['an inheriting object', { a: Object.create({ b: 1 }) }, 'payload.a', 'an instance of Object'],
    ['a strange prototype', Object.create(Object.create(null)), 'payload', 'some class'],
    ['toJSON', { a: { toJSON: () => 1 } }, 'payload.a.toJSON', 'is a function'],
    ['a hidden property', Object.defineProperty({}, 'a', { value: 1 }), 'payload.a', 'enumerable'],
    [
      'a throwing getter',
      {
        a: [
          {
            get b() {
              throw new Error('secret');
            },
          },
        ],
      },
      'payload.a[0].b',
      'cannot be read',
    ],
    ['a throwing proxy', { a: throwingProxy() }, 'payload.a', 'cannot be read'],
    ['a revoked proxy', { a: revokedProxy() }, 'payload.a', 'cannot be read'],
    ['a long key', { ['k'.repeat(200)]: NaN }, `payload["${'k'.repeat(40)}…"]`, 'NaN'],
  ])('refuses %s with the exact path', (_what, payload, path, why) => {
    const error = refusalOf(payload);
    expect(error.field).toBe(path);
    expect(error.why).toContain(why);
    expect(error.message).not.toContain('secret');
  });

  it('refuses cycles of objects and arrays where they close', () => {
    const order: Record<string, unknown> = { items: [{}] };
    order['items'] = [{ order }];
    const list: unknown[] = [];
    list.push([list]);
    expect(refusalOf(order)).toMatchObject({ field: 'payload.items[0].order' });
    expect(refusalOf(list)).toMatchObject({ field: 'payload[0][0]' });
    expect(refusalOf(list).why).toContain('cycle');
  });

  it('accepts 64 levels and refuses the 65th', () => {
    expect(encode(nested(64))).toBe('['.repeat(64) + ']'.repeat(64));
    expect(refusalOf(nested(65))).toMatchObject({
      field: `payload${'[0]'.repeat(64)}`,
      why: 'is nested deeper than 64 levels',
    });
  });

  it('does not overflow the stack at depth 20,000, nor for a proxy without end', () => {
    expect(refusalOf(nested(20_000)).why).toContain('deeper than 64');
    expect(refusalOf(endlessProxy()).why).toContain('deeper than 64');
  });

  it('counts bytes of UTF-8, not characters', () => {
    expect(encode('ä', 4)).toBe('"ä"');
    expect(() => encode('ä', 3)).toThrow('payload: is larger than 3 bytes as JSON');
    expect(encode('x'.repeat(65_534))).toHaveLength(65_536);
    expect(() => encode('x'.repeat(65_535))).toThrow('larger than 65536 bytes');
    expect(() => encode('\n'.repeat(40_000))).toThrow('larger than 65536 bytes');
  });

  it('counts what Postgres writes, which is read back', () => {
    expect(encode([1, 2], 6)).toBe('[1,2]');
    expect(() => encode([1, 2], 5)).toThrow('larger than 5 bytes');
    expect(encode({ a: 1, b: 2 }, 16)).toBe('{"a":1,"b":2}');
    expect(() => encode({ a: 1, b: 2 }, 15)).toThrow('larger than 15 bytes');
    // 2.9 MB, where JSON has 63 kB.
    expect(() => encode(Array.from({ length: 9_000 }, () => 5e-324))).toThrow(
      'payload: is larger than 65536 bytes as JSON (as jsonb writes it, numbers without exponents)',
    );
    expect(encode(Array.from({ length: 199 }, () => 5e-324))).toHaveLength(199 * 7 + 1);
  });

  it('names a number that is too large by itself', () => {
    expect(encode({ n: 5e-324 }, 333)).toBe('{"n":5e-324}');
    expect(() => encode({ n: [-1.5e-7] }, 10)).toThrow(
      'payload.n[0]: is a number of 11 bytes when it is written out, as jsonb does',
    );
  });

  it('stops at the limit instead of building what is too large', () => {
    let reads = 0;
    const page = {
      get text() {
        reads += 1;
        return 'x'.repeat(1_000);
      },
    };
    expect(() => encode(Array.from({ length: 10_000 }, () => page))).toThrow('larger than');
    expect(reads).toBeLessThan(70);
    expect(() => encode('x'.repeat(10_000_000))).toThrow('larger than');
    expect(() => encode({ a: Array.from({ length: 1_000_000 }, () => 0) })).toThrow('larger');
  });

  it('looks at the length of a text before it reads the text', () => {
    expect(() => encode(`${'x'.repeat(70_000)}\0`)).toThrow('larger than 65536 bytes');
  });

  it('a small object that repeats itself exponentially is stopped, too', () => {
    let lol: unknown = 'lol';
    for (let level = 0; level < 30; level++) lol = [lol, lol, lol, lol, lol, lol, lol, lol];
    expect(() => encode(lol)).toThrow('larger than 65536 bytes');
  });

  it('never repeats a payload value in its error', () => {
    const value = 'card 4111 1111 1111 1111';
    expect(refusalOf({ card: `${value}\0` }).message).not.toContain('4111');
    expect(refusalOf({ card: 9_007_199_254_740_993n }).message).not.toContain('9007');
  });
});

function refusalOf(payload: unknown): DelayInvalidError {
  try {
    encode(payload);
  } catch (error) {
    if (error instanceof DelayInvalidError) return error;
    throw error;
  }
  throw new Error('the payload was accepted');
}

function nested(depth: number): unknown {
  let payload: unknown[] = [];
  for (let level = 1; level < depth; level++) payload = [payload];
  return payload;
}

function throwingProxy(): object {
  return new Proxy(
    {},
    {
      ownKeys() {
        throw new Error('secret');
      },
    },
  );
}

/** Each property is one more like it. */
function endlessProxy(): object {
  return new Proxy({ a: 1 }, { get: (_target, key) => (key === 'a' ? endlessProxy() : undefined) });
}

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function sparse(length: number): unknown[] {
  const holes: unknown[] = [];
  holes.length = length;
  return holes;
}
