import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DiscardDelay } from '../../../src/delay-queue/delay/thrown-by-handlers.js';
import { describeError } from '../../../src/delay-queue/delay/error-text.js';

const loop: Record<string, unknown> = { a: 1 };
loop['loop'] = loop;

const selfCaused = new Error('chicken');
selfCaused.cause = selfCaused;

describe('describeError', () => {
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
    [
      new AggregateError([new Error('::1 refused'), new Error('127.0.0.1 refused')]),
      'AggregateError (first of 2: Error: ::1 refused)',
    ],
    ['just text', 'just text'],
    [null, 'null'],
    [10n, '10n'],
    [Symbol('s'), 'Symbol(s)'],
    [{ code: 23_514 }, '{ code: 23514 }'],
    [loop, '<ref *1> { a: 1, loop: [Circular *1] }'],
    [new Error('a\0b'), 'Error: a\uFFFDb'],
    [new Error('a\uD800b'), 'Error: a\uFFFDb'],
  ])('no. %# becomes %p', (error, text) => {
    expect(describeError(error)).toBe(text);
  });

  it.each<[string, unknown]>([
    [
      'a getter that throws',
      {
        get message(): string {
          throw new Error('no');
        },
      },
    ],
    [
      'a proxy that throws',
      new Proxy(
        {},
        {
          get() {
            throw new Error('no');
          },
        },
      ),
    ],
    ['a revoked proxy', revoked()],
    ['no prototype', Object.create(null)],
    [
      'a toString that throws',
      {
        toString() {
          throw new Error('no');
        },
      },
    ],
    ['a name that is no text', Object.assign(new Error('x'), { name: loop })],
    ['an array of errors that is none', Object.assign(new Error('x'), { errors: 'none' })],
    ['an errors proxy', Object.assign(new Error('x'), { errors: revoked() })],
    [
      'a custom inspect that throws',
      {
        [Symbol.for('nodejs.util.inspect.custom')]() {
          throw new Error('no');
        },
      },
    ],
  ])('describes %s without throwing', (_what, error) => {
    expect(describeError(error)).toMatch(/./);
  });

  it('cuts long texts at a whole character within the limit', () => {
    const text = describeError(new Error('💥'.repeat(100_000)));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
    expect(Buffer.byteLength(text)).toBeGreaterThan(4_090);
    expect(text).toMatch(/^Error: 💥+…$/u);
    expect(describeError('x'.repeat(4_096))).toHaveLength(4_096);
    expect(describeError('x'.repeat(4_097))).toBe(`${'x'.repeat(4_093)}…`);
    expect(describeError('ä'.repeat(2_049))).toBe(`${'ä'.repeat(2_046)}…`);
  });

  it('always answers text that Postgres can store, within the limit', () => {
    const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code));
    const tail = fc.string({ unit, maxLength: 100 });
    const length = fc.integer({ min: 0, max: 4_100 });
    const message = fc.tuple(length, tail).map(([units, end]) => 'x'.repeat(units) + end);
    const thrown = fc.oneof(
      fc.anything(),
      message.map((text) => new Error(text)),
      message,
    );
    fc.assert(
      fc.property(thrown, (error) => {
        const text = describeError(error);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(4_096);
        expect(text).not.toContain('\0');
        expect(Buffer.from(text).toString()).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}
