/** A name or key that must be refused. */
export interface HostileWord {
  what: string;
  value: unknown;
  why: string;
}

const word = (what: string, value: unknown, why: string): HostileWord => ({ what, value, why });

/** What is no text at all, refused as either. `toString` must never be asked. */
const NO_TEXTS: readonly HostileWord[] = [
  word('a number', 42, 'must be a text'),
  word('a bigint', 42n, 'must be a text'),
  word('true', true, 'must be a text'),
  word('null', null, 'must be a text'),
  word('a symbol', Symbol('k'), 'must be a text'),
  word('a list of one text', ['k'], 'must be a text'),
  word('a boxed text', new String('k'), 'must be a text'),
  word('an object with toString', { toString: () => 'k' }, 'must be a text'),
  word('a proxy of a text', new Proxy(new String('k'), {}), 'must be a text'),
];

export const KEYS: readonly HostileWord[] = [
  ...NO_TEXTS,
  word('an empty text', '', '1 to 255'),
  word('256 characters', 'x'.repeat(256), '1 to 255'),
  word('128 pairs of surrogates', '😀'.repeat(128), '1 to 255'),
  word('ten million characters', 'x'.repeat(10_000_000), '1 to 255'),
  word('NUL', 'a\0b', 'NUL'),
  word('nothing but NUL', '\0', 'NUL'),
  word('half a surrogate pair', '😀'.slice(0, 1), 'well-formed'),
  word('the halves of a pair in the wrong order', '\uDE00\uD83D', 'well-formed'),
];

export const NAMES: readonly HostileWord[] = [
  ...NO_TEXTS,
  word('an empty text', '', "must be a text like 'order.close'"),
  word('undefined', undefined, "must be a text like 'order.close'"),
  word('101 characters', 'x'.repeat(101), "must be a text like 'order.close'"),
  word('ten million characters', 'x'.repeat(10_000_000), "must be a text like 'order.close'"),
  word('a quote and SQL', `test.'; DROP TABLE delay; --`, "must be a text like 'order.close'"),
  word('a double quote', 'test."x', "must be a text like 'order.close'"),
  word('a backslash', 'test.\\x', "must be a text like 'order.close'"),
  word('a dollar quote', 'test.$$x$$', "must be a text like 'order.close'"),
  word('a placeholder', 'test.$1', "must be a text like 'order.close'"),
  word('a line break at the end', 'test.x\n', "must be a text like 'order.close'"),
  word('NUL', 'test.x\0', "must be a text like 'order.close'"),
  word('a blank', 'test x', "must be a text like 'order.close'"),
  word('a letter that only looks like one', 'tеst.x', "must be a text like 'order.close'"),
  word('a dot in front', '.test', "must be a text like 'order.close'"),
  word('__proto__', '__proto__', "must be a text like 'order.close'"),
];
