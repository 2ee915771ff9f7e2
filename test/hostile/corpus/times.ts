import type { Case } from '../support/every-case.js';

/** A due time that must be refused: what stands in the options, and the field to be named. */
export interface HostileTime extends Case {
  when: object;
  field: string;
}

const boom = (): never => {
  throw new Error('boom');
};

const after = (what: string, value: unknown): HostileTime => ({
  what: `after: ${what}`,
  when: { after: value },
  field: 'after',
});

const at = (what: string, value: unknown): HostileTime => ({
  what: `at: ${what}`,
  when: { at: value },
  field: 'at',
});

/** A real Date that answers something else than its time. */
const lying = (getTime: () => unknown): Date => Object.assign(new Date(), { getTime });

/** Also refused as `extendBy`. */
export const DURATIONS: readonly HostileTime[] = [
  after('NaN', NaN),
  after('Infinity', Infinity),
  after('-Infinity', -Infinity),
  after('a negative number', -1),
  after('a hair below zero', -Number.MIN_VALUE),
  after('a negative text', '-5s'),
  after('a number beyond 100 years', 100 * 365.25 * 86_400_000 + 1),
  after('a text beyond 100 years', '365250d'),
  after('the largest double', Number.MAX_VALUE),
  after('an unknown unit', '30x'),
  after('an empty text', ''),
  after('blanks around it', ' 30s '),
  after('two durations', '30m 10s'),
  after('an exponent', '1e3'),
  after('a hexadecimal number', '0x10'),
  after('NaN as a text', 'NaN'),
  after('digits of another script', '٣٠s'),
  after('NUL behind it', '30s\0'),
  after('SQL behind it', `1s'; SELECT pg_sleep(60); --`),
  after('ten million digits', '1'.repeat(10_000_000)),
  after('null', null),
  after('true', true),
  after('a bigint', 10n),
  after('a symbol', Symbol('30s')),
  after('a list', ['30s']),
  after('a boxed number', new Number(30)),
  after('an object with valueOf', { valueOf: () => 30 }),
  after('a function', () => 30),
  after('a Date', new Date()),
];

export const TIMES: readonly HostileTime[] = [
  ...DURATIONS,
  at('an Invalid Date', new Date(NaN)),
  at('the last Date there is', new Date(8.64e15)),
  at('the year 10000', new Date(Date.UTC(10_000, 0, 1))),
  at('before 1970', new Date(-1)),
  at('before Christ', new Date(-1e14)),
  at('a text', '2030-01-01T00:00:00Z'),
  at('infinity', 'infinity'),
  at('a number', Date.now()),
  at('null', null),
  at('what only inherits from Date', Object.create(Date.prototype)),
  at('a proxy of a Date', new Proxy(new Date(), {})),
  at('a Date whose getTime throws', lying(boom)),
  at(
    'a Date whose getTime answers a text',
    lying(() => 'soon'),
  ),
  at(
    'a Date whose getTime answers a bigint',
    lying(() => 1n),
  ),
  at(
    'a Date whose getTime answers nothing',
    lying(() => undefined),
  ),
  at(
    'a Date whose getTime answers Infinity',
    lying(() => Infinity),
  ),
  { what: 'after and at together', when: { after: 1, at: new Date() }, field: 'at' },
  { what: 'neither after nor at', when: {}, field: 'after|at' },
];
