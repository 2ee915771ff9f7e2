import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { describeError, storableIn } from '../../../src/delay-queue/api/error-text.js';
import { DiscardDelay } from '../../../src/delay-queue/api/errors.js';

const loop: Record<string, unknown> = { a: 1 };
loop['loop'] = loop;

const selfCaused = new Error('chicken');
selfCaused.cause = selfCaused;

const boom = (): never => {
  throw new Error('no');
};

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}

const keyed = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 0]));

const oneOf = (what: object): Error => Object.assign(new Error('x'), what);

describe('what is thrown', () => {
  it.each<[unknown, string]>([
    [new Error('no stock'), 'Error: no stock'],
    [new DiscardDelay('gone'), 'DiscardDelay: gone'],
    [new Error(), 'Error'],
    [{ message: 'like an error' }, 'Error: like an error'],
    [
      new Error('outer', { cause: new RangeError('inner') }),
      'Error: outer (cause: RangeError: inner)',
    ],
    [new Error('outer', { cause: 'text' }), 'Error: outer (cause: text)'],
    [selfCaused, 'Error: chicken (cause: Error: chicken)'],
    [new AggregateError([new Error('a'), new Error('b')]), 'AggregateError (first of 2: Error: a)'],
    ['just text', 'just text'],
    [null, 'null'],
    [Symbol('s'), 'Symbol(s)'],
    [loop, '<ref *1> { a: 1, loop: [Circular *1] }'],
    [keyed(101), 'an object of more than 100 keys'],
    [{ inner: keyed(101) }, 'an object of more than 100 keys'],
    [{ a: { b: keyed(101) } }, '{ a: { b: [Object] } }'],
    [{ [inspect.custom]: boom }, '{ [Symbol(nodejs.util.inspect.custom)]: [Function: boom] }'],
    [new Error('a\0b\uD800c'), 'Error: a\uFFFDb\uFFFDc'],
    [oneOf({ name: loop }), 'Error: x'],
    [oneOf({ errors: 'none' }), 'Error: x'],
    ['x'.repeat(4_096), 'x'.repeat(4_096)],
    ['x'.repeat(4_097), `${'x'.repeat(4_093)}…`],
    ['ä'.repeat(2_049), `${'ä'.repeat(2_046)}…`],
    ['💥'.repeat(100_000), `${'💥'.repeat(1_023)}…`],
  ])('no. %# becomes a text', (error, text) => {
    expect(describeError(error)).toBe(text);
  });

  it.each<[string, unknown]>([
    ['a getter that throws', Object.defineProperty({}, 'message', { get: boom })],
    ['a proxy that throws', new Proxy({}, { get: boom })],
    ['a revoked proxy', revoked()],
    ['no prototype', Object.create(null)],
    ['a toString that throws', { toString: boom }],
    ['an errors proxy', oneOf({ errors: revoked() })],
  ])('with %s is described without throwing', (_what, error) => {
    expect(describeError(error)).toMatch(/./);
  });

  it.each(['LATIN1', 'SQL_ASCII'])('for %s fills its limit where it is cut', (encoding) => {
    const text = storableIn(encoding, '€'.repeat(1_000));
    expect([text.length, text.slice(0, 8), text.slice(-3)]).toEqual([4_096, '\\u{20ac}', '...']);
    expect(storableIn(encoding, '€'.repeat(512))).toHaveLength(4_096);
  });

  it('is always a text that Postgres can store, within the limit', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const tail = fc.string({ unit, maxLength: 100 });
    const message = fc.tuple(fc.nat(4_100), tail).map(([units, end]) => 'x'.repeat(units) + end);
    const thrown = fc.oneof(
      fc.anything(),
      message.map((text) => new Error(text)),
    );
    fc.assert(
      fc.property(thrown, (error) => {
        const text = describeError(error);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
        expect(text).not.toContain('\0');
        expect(Buffer.from(text).toString()).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});
