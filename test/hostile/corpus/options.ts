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

const repeat = (
  what: string,
  field: string,
  given: unknown,
  why: string,
  more: object = {},
): HostileOptions => ({ what, options: { repeat: given, key: 'k', ...more }, field, why });

export const OPTIONS: readonly HostileOptions[] = [
  whole('no options', undefined),
  whole('null', null),
  whole('a list', []),
  whole('a Map', new Map([['after', 1]])),
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
  unknown('Key', 'did you mean key?'),
  // What other queues call them.
  unknown('delay', 'did you mean after?'),
  unknown('startAfter', 'did you mean after?'),
  unknown('runAt', 'did you mean at?'),
  unknown('jobId', 'did you mean key?'),
  unknown('job_key', 'did you mean key?'),
  unknown('attempts', 'did you mean maxAttempts?'),
  unknown('transaction', 'did you mean manager?'),
  beside('options.backoff', 'the option backoff', { backoff: 1 }, '@OnDelay(name, { backoff })'),
  beside('options.priority', 'the option priority', { priority: 1 }, 'does not exist'),
  beside('options.by', 'the option by', { by: 1 }, 'cancel(name, key, { by })'),
  unknown(
    'delayKey',
    'there are after, at, key, onConflict, maxWait, running, maxAttempts, group, headers, repeat, manager',
  ),
  // Its name would fill a screen.
  beside(`options.${'x'.repeat(40)}…`, 'a long name', { ['x'.repeat(1e6)]: 1 }, 'is not an option'),
  beside('key', 'a key of null', { key: null }, 'must be a text, not null'),
  attempts('no attempts', 0),
  attempts('half an attempt', 1.5),
  attempts('1,001 attempts', 1_001),
  attempts('attempts as a text', '3'),
  conflict('an unknown conflict', 'ignore'),
  conflict('a conflict that every object has', 'toString'),
  conflict('a conflict of null', null),
  repeat('to recur as null', 'repeat', null, 'must be an object'),
  repeat('to recur in no way', 'repeat.every|cron', {}, 'exactly one of them'),
  repeat(
    'to recur in two ways',
    'repeat.every|cron',
    { every: '1h', cron: '* * * * *' },
    'exactly one of them',
  ),
  repeat('a period below the least', 'repeat.every', { every: '999ms' }, 'must be'),
  repeat('a cron that nobody reads', 'repeat.cron', { cron: '61 * * * *' }, 'cron expression'),
  repeat('a cron that never comes', 'repeat.cron', { cron: '0 0 30 2 *' }, 'never occurs'),
  repeat(
    'a time zone of another planet',
    'repeat.timeZone',
    { cron: '* * * * *', timeZone: 'Mars/Olympus' },
    'IANA',
  ),
  repeat(
    'a time zone beside every',
    'repeat.timeZone',
    { every: '1h', timeZone: 'UTC' },
    'goes with cron',
  ),
  repeat(
    'an unknown catch-up',
    'repeat.catchUp',
    { every: '1h', catchUp: 'some' },
    'must be one of latest, each, none',
  ),
  repeat('no run at all', 'repeat.limit', { every: '1h', limit: 0 }, 'from 1 to 1000000'),
  repeat('half a run', 'repeat.limit', { every: '1h', limit: 1.5 }, 'must be a whole number'),
  repeat(
    'the end as a text',
    'repeat.until',
    { every: '1h', until: '2030-01-01' },
    'must be milliseconds or a text',
  ),
  repeat('an end that is no date', 'repeat.until', { every: '1h', until: {} }, 'must be a Date'),
  repeat(
    'an end in seconds',
    'repeat.until',
    { every: '1h', until: new Date(1_900_000_000) },
    'looks like seconds',
  ),
  repeat(
    'an end before the first run',
    'repeat.until',
    { every: '1h', until: '59m' },
    'must not be before the first run',
  ),
  repeat(
    'a misspelt time zone',
    'repeat.timezone',
    { cron: '* * * * *', timezone: 'UTC' },
    'did you mean timeZone?',
  ),
  repeat('to recur without a key', 'key', { every: '1h' }, 'is required with', { key: undefined }),
  repeat('to recur, after and at', 'at', { every: '1h' }, 'not both', {
    after: 1,
    at: new Date(0),
  }),
  repeat('to recur, the earlier one', 'onConflict', { every: '1h' }, 'replace, keep or error', {
    onConflict: 'earlier',
  }),
  repeat('to recur, with a longest wait', 'maxWait', { every: '1h' }, 'due once', {
    after: '1m',
    maxWait: '1h',
  }),
];
