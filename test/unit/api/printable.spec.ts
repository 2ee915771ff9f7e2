import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { printable, printableError } from 'nestjs-delay-queue';
import { describeError, quoted } from '../../../src/delay-queue/core/api/error-text.js';
import { DiscardDelay } from '../../../src/delay-queue/core/api/errors.js';

/** Acts on a terminal or a log, or cannot be seen. */
const ACTING = [
  '\n',
  '\r',
  '\t',
  '\0',
  '\u001b',
  '\u0007',
  '\u0008',
  '\u007f',
  // C1: CSI, OSC, NEL.
  '\u009b',
  '\u009d',
  '\u0085',
  '\u0080',
  '\u2028',
  '\u2029',
  '\u202a',
  '\u202e',
  '\u2066',
  '\u2069',
  '\u200e',
  '\u200f',
  '\u061c',
  '\u200b',
  '\u200d',
  '\u2060',
  '\ufeff',
  '\u00ad',
  '\u3164',
  '\u{e0001}',
  '\u{e0041}',
  '\ud800',
  '\udfff',
];

const acting = fc.array(fc.constantFrom('a', '7', ' ', '漢', '😀', ...ACTING), { maxLength: 60 });

const ACTS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

const loop: Record<string, unknown> = { a: 1 };

const selfCaused = new Error('chicken');

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

describe('a text that is shown', () => {
  it.each(ACTING)('holds no %j', (char) => {
    expect(printable(`a${char}b`)).toMatch(/^a\\[nrtu][{}0-9a-f]*b$/);
    expect(quoted(`a${char}b`)).toMatch(/^"a\\[nrtbu][{}0-9a-f]*b"$/);
  });

  it('is what it was where nothing in it acts', () => {
    const text = 'order 42: "héllo" ✓ 漢字 😀 \\n שלום';
    expect(printable(text)).toBe(text);
  });

  it('has a length', () => {
    expect(printable('x'.repeat(100_000)).length).toBeLessThan(9_000);
    expect(printable('\u001b'.repeat(100_000), 10)).toBe(`${'\\u001b'.repeat(10)}…`);
    expect(printable(`${'x'.repeat(9)}😀`, 10)).toBe(`${'x'.repeat(9)}\\ud83d…`);
  });
});
describe('an error that is shown', () => {
  it('is one line and its frames, whatever its message says', () => {
    fc.assert(
      fc.property(acting, acting, (name, message) => {
        const error = new Error(`${message.join('')}\n[Nest] LOG paid\n    at evil (/etc:1:1)`);
        error.name = `E${name.join('')}`;
        const [first, ...frames] = printableError(error).split('\n');
        expect(first).toMatch(/^E/);
        expect(first).not.toMatch(ACTS);
        expect(frames.length).toBeGreaterThan(0);
        for (const frame of frames) {
          expect(frame).toMatch(/^ {4}at /);
          expect(frame).not.toMatch(/evil|LOG/);
        }
      }),
    );
  });

  it.each([
    ['changed since', (error: Error) => void (error.message = 'other')],
    ['with a stack of its own', (error: Error) => void (error.stack = 'x\n[Nest] LOG paid')],
    [
      'with a getter that throws',
      (error: Error) =>
        void Object.defineProperty(error, 'stack', {
          get: () => {
            throw new Error('no');
          },
        }),
    ],
  ])('%s adds no line but frames', (_, change) => {
    const error = new Error('first\n[Nest] LOG paid');
    change(error);
    const lines = printableError(error).split('\n').slice(1);
    for (const line of lines) expect(line).toMatch(/^ {4}at /);
  });
});

loop['loop'] = loop;
selfCaused.cause = selfCaused;
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
