/** A value of a type that hardly any option takes. */
export interface WrongValue {
  kind: string;
  value: unknown;
  /** How a message shows it. */
  shown: RegExp;
}

const boom = (): never => {
  throw new Error('boom');
};

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const wrong = (kind: string, value: unknown, shown: RegExp): WrongValue => ({ kind, value, shown });

export const WRONG_VALUES: readonly WrongValue[] = [
  wrong('null', null, /null/),
  wrong('true', true, /true/),
  wrong('false', false, /false/),
  wrong('no number', Number.NaN, /NaN/),
  wrong('a negative number', -1, /-1/),
  wrong('infinity', Infinity, /Infinity/),
  wrong('an empty text', '', /""|has 0/),
  wrong('a text', 'No such value!', /"No such value!"/),
  wrong('a long text', 'x'.repeat(100), /100/),
  wrong('a bigint', 5n, /a bigint/),
  wrong('a symbol', Symbol('s'), /a symbol/),
  wrong('a function', () => undefined, /a function/),
  wrong('an empty list', [], /an array/),
  wrong('an empty object', {}, /an object|which limit|not undefined/),
  wrong('an object', { nothingLikeIt: 1 }, /an object|nothingLikeIt/),
  wrong('a Date', new Date(0), /a Date/),
  wrong('a promise', Promise.resolve({}), /a Promise/),
  wrong(
    'a proxy that throws',
    new Proxy({}, { get: boom, ownKeys: boom }),
    /an object|cannot be read/,
  ),
  wrong('a revoked proxy', revoked(), /a revoked proxy|cannot be read/),
];
