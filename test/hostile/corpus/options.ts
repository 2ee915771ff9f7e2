import type { Case } from '../support/every-case.js';

/** Options of `schedule` that must be refused. */
export interface HostileOptions extends Case {
  options: unknown;
  field: string;
}

const boom = (): never => {
  throw new Error('boom');
};

const whole = (what: string, options: unknown, field = 'options'): HostileOptions => ({
  what,
  options,
  field,
});

const beside = (field: string, what: string, given: object): HostileOptions => ({
  what,
  options: { after: '1h', ...given },
  field,
});

export const OPTIONS: readonly HostileOptions[] = [
  whole('no options', undefined),
  whole('null', null),
  whole('a number', 5),
  whole('a text', '5s'),
  whole('a list', []),
  whole('a function', () => ({ after: 1 })),
  whole('a Map', new Map([['after', 1]]), 'after|at'),
  whole('a proxy that throws for its keys', new Proxy({}, { ownKeys: boom })),
  whole(
    'a getter that throws',
    Object.defineProperty({}, 'after', { enumerable: true, get: boom }),
  ),
  beside('options.maxAttemps', 'a misspelt option', { maxAttemps: 3 }),
  whole('__proto__', JSON.parse('{"after": 1, "__proto__": {"key": "k"}}'), 'options.__proto__'),
  beside('options.payload', 'an option of another method', { payload: 1 }),
  beside('maxAttempts', 'no attempts', { maxAttempts: 0 }),
  beside('maxAttempts', 'half an attempt', { maxAttempts: 1.5 }),
  beside('maxAttempts', '1,001 attempts', { maxAttempts: 1_001 }),
  beside('maxAttempts', 'NaN attempts', { maxAttempts: NaN }),
  beside('maxAttempts', 'attempts as a text', { maxAttempts: '3' }),
  beside('maxAttempts', 'null attempts', { maxAttempts: null }),
  beside('onConflict', 'an unknown conflict', { onConflict: 'ignore' }),
  beside('onConflict', 'a conflict in capitals', { onConflict: 'KEEP' }),
  beside('onConflict', 'a conflict that every object has', { onConflict: 'toString' }),
  beside('onConflict', 'a conflict of null', { onConflict: null }),
  beside('onConflict', 'a list of a conflict', { onConflict: ['keep'] }),
];
