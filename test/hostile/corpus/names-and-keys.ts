import type { Case } from '../support/every-case.js';

/** A name or key that must be refused. */
export interface HostileWord extends Case {
  value: unknown;
}

const word = (what: string, value: unknown): HostileWord => ({ what, value });

/** What is no text at all, refused as either. `toString` must never be asked. */
const NO_TEXTS: readonly HostileWord[] = [
  word('a number', 42),
  word('a bigint', 42n),
  word('true', true),
  word('null', null),
  word('a symbol', Symbol('k')),
  word('a list of one text', ['k']),
  word('a boxed text', new String('k')),
  word('an object with toString', { toString: () => 'k' }),
  word('a proxy of a text', new Proxy(new String('k'), {})),
  word('an empty text', ''),
];

export const KEYS: readonly HostileWord[] = [
  ...NO_TEXTS,
  word('256 characters', 'x'.repeat(256)),
  word('128 pairs of surrogates', '😀'.repeat(128)),
  word('ten million characters', 'x'.repeat(10_000_000)),
  word('NUL', 'a\0b'),
  word('nothing but NUL', '\0'),
  word('half a surrogate pair', '😀'.slice(0, 1)),
  word('the halves of a pair in the wrong order', '\uDE00\uD83D'),
];

export const NAMES: readonly HostileWord[] = [
  ...NO_TEXTS,
  word('undefined', undefined),
  word('101 characters', 'x'.repeat(101)),
  word('ten million characters', 'x'.repeat(10_000_000)),
  word('a quote and SQL', `test.'; DROP TABLE delay; --`),
  word('a double quote', 'test."x'),
  word('a backslash', 'test.\\x'),
  word('a dollar quote', 'test.$$x$$'),
  word('a placeholder', 'test.$1'),
  word('a line break at the end', 'test.x\n'),
  word('NUL', 'test.x\0'),
  word('a blank', 'test x'),
  word('a letter that only looks like one', 'tеst.x'),
  word('a dot in front', '.test'),
  word('__proto__', '__proto__'),
];
