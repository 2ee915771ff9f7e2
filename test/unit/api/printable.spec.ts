import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { printable, printableError } from 'nestjs-delay-queue';
import { quoted } from '../../../src/delay-queue/api/error-text.js';

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
