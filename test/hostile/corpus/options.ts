/** Options of `schedule` that must be refused. */
export interface HostileOptions {
  what: string;
  options: unknown;
  field: string;
  why: string;
}

const boom = (): never => {
  throw new Error('boom');
};

const whole = (
  what: string,
  options: unknown,
  field = 'options',
  why = 'must be an object',
): HostileOptions => ({ what, options, field, why });

const beside = (field: string, what: string, given: object, why: string): HostileOptions => ({
  what,
  options: { after: '1h', ...given },
  field,
  why,
});

const attempts = (what: string, maxAttempts: unknown): HostileOptions =>
  beside('maxAttempts', what, { maxAttempts }, 'must be a whole number from 1 to 1000');

const conflict = (what: string, onConflict: unknown): HostileOptions =>
  beside('onConflict', what, { onConflict }, 'must be one of replace, keep, error, earlier, later');

const unknown = (name: string, why: string): HostileOptions =>
  beside(`options.${name}`, `the option ${name}`, { [name]: 1 }, `is not an option; ${why}`);

export const OPTIONS: readonly HostileOptions[] = [
  whole('no options', undefined),
  whole('null', null),
  whole('a number', 5),
  whole('a text', '5s'),
  whole('a list', []),
  whole('a function', () => ({ after: 1 })),
  whole('a Map', new Map([['after', 1]]), 'after|at', 'say when'),
  whole('a proxy that throws', new Proxy({}, { ownKeys: boom }), 'options', 'cannot be read'),
  whole(
    'a getter that throws',
    Object.defineProperty({}, 'after', { enumerable: true, get: boom }),
    'options',
    'cannot be read',
  ),
  whole(
    '__proto__',
    JSON.parse('{"after": 1, "__proto__": {"key": "k"}}'),
    'options.__proto__',
    'is not an option',
  ),
  unknown('maxAttemps', 'did you mean maxAttempts?'),
  unknown('max_attempts', 'did you mean maxAttempts?'),
  unknown('Key', 'did you mean key?'),
  unknown(
    'delayKey',
    'there are after, at, key, onConflict, maxWait, maxAttempts, group, headers, manager',
  ),
  unknown(
    'payload',
    'there are after, at, key, onConflict, maxWait, maxAttempts, group, headers, manager',
  ),
  // Its name would fill a screen.
  beside(`options.${'x'.repeat(40)}…`, 'a long name', { ['x'.repeat(1e6)]: 1 }, 'is not an option'),
  beside('key', 'a key of null', { key: null }, 'must be a text, not null'),
  attempts('no attempts', 0),
  attempts('half an attempt', 1.5),
  attempts('1,001 attempts', 1_001),
  attempts('NaN attempts', NaN),
  attempts('attempts as a text', '3'),
  attempts('null attempts', null),
  conflict('an unknown conflict', 'ignore'),
  conflict('a conflict in capitals', 'KEEP'),
  conflict('a conflict that every object has', 'toString'),
  conflict('a conflict of null', null),
  conflict('a list of a conflict', ['keep']),
];
