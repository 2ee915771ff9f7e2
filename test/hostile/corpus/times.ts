/** A due time that must be refused: what stands in the options, and the field to be named. */
export interface HostileTime {
  what: string;
  when: object;
  field: string;
  why: string;
}

const boom = (): never => {
  throw new Error('boom');
};

const after = (
  what: string,
  value: unknown,
  why = "must be milliseconds or a text like '90s', '30m', '48h' or '14d'",
): HostileTime => ({ what: `after: ${what}`, when: { after: value }, field: 'after', why });

const at = (what: string, value: unknown, why: string): HostileTime => ({
  what: `at: ${what}`,
  when: { at: value },
  field: 'at',
  why,
});

/** A real Date that answers something else than its time. */
const lying = (getTime: () => unknown): Date => Object.assign(new Date(), { getTime });

/** Also refused as `extendBy`. */
export const DURATIONS: readonly HostileTime[] = [
  after('NaN', NaN),
  after('Infinity', Infinity),
  after('a negative number', -1, 'must not be negative'),
  after('a hair below zero', -Number.MIN_VALUE, 'must not be negative'),
  after('a number beyond 100 years', 100 * 365.25 * 86_400_000 + 1, 'must be at most 100 years'),
  after('a text beyond 100 years', '365250d', 'must be at most 100 years'),
  after(
    'a point in time',
    1_795_737_600_000,
    'looks like a point in time: 1795737600000. A due time is `at',
  ),
  after('months or minutes', '3M', `is months or minutes: "3M". Write '3m'`),
  after('years', '1y', 'counts years'),
  after('a unit in capitals', '5 Min', 'must have its unit in lower case: "5 min"'),
  after('an unknown unit', '30x'),
  after('a number as a text', '60', `has no unit: "60". Write '60s' for seconds, or the number 60`),
  after('an empty text', ''),
  after('blanks around it', ' 30s '),
  after('digits of another script', '٣٠s'),
  after('ten million digits', '1'.repeat(10_000_000)),
  after('null', null),
  after('a bigint', 10n),
  after('a symbol', Symbol('30s')),
  after('a list', ['30s']),
  after('an object with valueOf', { valueOf: () => 30 }),
];

const RANGE = 'must lie from 1970-01-01 to 9999-12-31';
const NO_DATE = 'must be a Date, not';
const LIES = 'must be a Date whose getTime answers the time it holds';

export const TIMES: readonly HostileTime[] = [
  ...DURATIONS,
  at('an Invalid Date', new Date(NaN), 'must be a valid Date'),
  at('the last Date there is', new Date(8.64e15), RANGE),
  at('the year 10000', new Date(Date.UTC(10_000, 0, 1)), RANGE),
  at('before 1970', new Date(-1), RANGE),
  at('seconds', new Date(1_767_225_600), 'looks like seconds'),
  at('a text', '2030-01-01T00:00:00Z', NO_DATE),
  at('null', null, NO_DATE),
  at('what only inherits from Date', Object.create(Date.prototype), NO_DATE),
  at('a proxy of a Date', new Proxy(new Date(), {}), NO_DATE),
  at('a Date whose getTime throws', lying(boom), 'cannot be read'),
  at('a Date whose getTime answers a text', lying(String), LIES),
  at(
    'a Date whose getTime answers Infinity',
    lying(() => Infinity),
    LIES,
  ),
  {
    what: 'after and at together',
    when: { after: 1, at: new Date() },
    field: 'at',
    why: 'give either after or at, not both',
  },
  { what: 'neither after nor at', when: {}, field: 'after|at', why: 'say when' },
];
