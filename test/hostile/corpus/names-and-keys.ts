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
  word('null', null, 'must be a text'),
  word('a symbol', Symbol('k'), 'must be a text'),
  word('a boxed text', new String('k'), 'must be a text'),
  word('an object with toString', { toString: () => 'k' }, 'must be a text'),
];

export const KEYS: readonly HostileWord[] = [
  ...NO_TEXTS,
  word('an empty text', '', '1 to 255'),
  word('256 characters', 'x'.repeat(256), '1 to 255'),
  word('ten million characters', 'x'.repeat(10_000_000), '1 to 255'),
  word('half a surrogate pair', '😀'.slice(0, 1), 'well-formed'),
];

export const NAMES: readonly HostileWord[] = [
  ...NO_TEXTS,
  word('an empty text', '', "must be a text like 'order.close'"),
  word('undefined', undefined, "must be a text like 'order.close'"),
  word('101 characters', 'x'.repeat(101), "must be a text like 'order.close'"),
  word('ten million characters', 'x'.repeat(10_000_000), "must be a text like 'order.close'"),
  word('a quote and SQL', `test.'; DROP TABLE delay; --`, "must be a text like 'order.close'"),
  word('a line break at the end', 'test.x\n', "must be a text like 'order.close'"),
  word('a letter that only looks like one', 'tеst.x', "must be a text like 'order.close'"),
  word('a dot in front', '.test', "must be a text like 'order.close'"),
  word('__proto__', '__proto__', "must be a text like 'order.close'"),
];
