import { describe, expect, it } from '@jest/globals';
import { type Declaration, declarationOf } from '../../../src/delay-queue/handlers/declaration.js';
import { Payloads } from '../../../src/delay-queue/payloads/payloads.js';
import { firstMsOf } from '../../../src/delay-queue/recurrence/recurrence.js';

const declared = (options: unknown): Declaration =>
  declarationOf('test.a', options, new Payloads(1_000)) as Declaration;
const NOW = Date.parse('2026-06-01T12:00:00Z');

describe('a declaration', () => {
  it('has its defaults: the wall clock of UTC, one run for all that was missed', () => {
    expect(declared({ cron: ' 0 3 * * * ' })).toEqual({
      name: 'test.a',
      key: 'repeat',
      payload: 'null',
      repeat: { cron: '0 3 * * *', timeZone: 'UTC', catchUp: 'latest' },
    });
    expect(declared({ every: '15m', key: 'k', catchUp: 'each', payload: { n: 1 } })).toEqual({
      name: 'test.a',
      key: 'k',
      payload: '{"n":1}',
      repeat: { every: 900_000, catchUp: 'each' },
    });
  });

  it('is due for the first time after its period, or at the first instant to come', () => {
    expect(firstMsOf(declared({ every: '15m' }).repeat, NOW)).toBe(NOW + 900_000);
    const daily = declared({ cron: '0 3 * * *', timeZone: 'Europe/Berlin' });
    expect(firstMsOf(daily.repeat, NOW)).toBe(Date.parse('2026-06-02T01:00:00Z'));
    expect(firstMsOf(declared({ cron: '* * * * * *' }).repeat, NOW + 1)).toBe(NOW + 1_000);
  });

  const REFUSED: [field: string, options: unknown][] = [
    ['every|cron', {}],
    ['every|cron', { every: '1m', cron: '* * * * *' }],
    ['every', { every: 999 }],
    ['every', { every: '101y' }],
    ['every', { every: Number.NaN }],
    ['timeZone', { every: '1m', timeZone: 'UTC' }],
    ['timeZone', { cron: '* * * * *', timeZone: 'Mars/Olympus' }],
    ['timeZone', { cron: '* * * * *', timeZone: '+02:00' }],
    ['timeZone', { cron: '* * * * *', timeZone: 7 }],
    ['cron', { cron: 7 }],
    ['cron', { cron: '' }],
    ['cron', { cron: '* * * *' }],
    ['cron', { cron: '61 * * * *' }],
    ['cron', { cron: 'a b c d e' }],
    ['cron', { cron: '@daily' }],
    ['cron', { cron: '2027-01-01T00:00:00' }],
    ['cron', { cron: '0 0 0 1 1 * 2027' }],
    ['cron', { cron: '0 0 30 2 *' }],
    ['cron', { cron: `${'1,'.repeat(100)}1 * * * *` }],
    ['catchUp', { every: '1m', catchUp: 'some' }],
    ['key', { every: '1m', key: 7 }],
    ['payload', { every: '1m', payload: new Date(0) }],
    ['payload', { every: '1m', payload: 'x'.repeat(1_000) }],
    ['options.timezone', { every: '1m', timezone: 'UTC' }],
    ['options', null],
  ];

  it.each(REFUSED)('names %s of %j', (field, options) => {
    expect(() => declared(options)).toThrow(
      expect.objectContaining({ code: 'DELAY_INVALID', field }),
    );
  });
});
