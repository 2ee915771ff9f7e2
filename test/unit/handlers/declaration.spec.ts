import { describe, expect, it } from '@jest/globals';
import {
  type Declaration,
  parseDeclaration,
} from '../../../src/delay-queue/core/handlers/handler.registry.js';
import { Payloads } from '../../../src/delay-queue/core/config/payloads.js';
import { firstDueMs } from '../../../src/delay-queue/core/recurrence/recurrence.js';

const declared = (options: unknown): Declaration =>
  parseDeclaration('test.a', options, new Payloads(1_000)) as Declaration;

describe('a declaration', () => {
  it('has its defaults: the wall clock of UTC, one run for all that was missed', () => {
    const name = 'test.a';
    expect(declared({ cron: ' 0 3 * * * ' })).toEqual({
      name,
      key: 'repeat',
      payload: 'null',
      repeat: { cron: '0 3 * * *', timeZone: 'UTC', catchUp: 'latest' },
    });
    const repeat = { every: 900_000, catchUp: 'each' };
    const given = { every: '15m', key: 'k', catchUp: 'each', payload: { n: 1 } };
    expect(declared(given)).toEqual({ name, key: 'k', payload: '{"n":1}', repeat });
  });

  it.each([
    [{ every: '15m' }, '2026-06-01T12:15:00Z'],
    [{ cron: '0 3 * * *', timeZone: 'Europe/Berlin' }, '2026-06-02T01:00:00Z'],
    [{ cron: '* * * * * *' }, '2026-06-01T12:00:01Z'],
  ])('%j is due for the first time at %s', (options, first) => {
    const nowMs = Date.parse('2026-06-01T12:00:00Z');
    expect(firstDueMs(declared(options).repeat, nowMs)).toBe(Date.parse(first));
  });

  /** Those of another type are in `test/hostile/wrong-options.spec.ts`. */
  it.each<[field: string, options: unknown]>([
    ['every|cron', {}],
    ['every|cron', { every: '1m', cron: '* * * * *' }],
    ['every', { every: 999 }],
    ['every', { every: '101y' }],
    ['timeZone', { every: '1m', timeZone: 'UTC' }],
    ['timeZone', { cron: '* * * * *', timeZone: 'Mars/Olympus' }],
    ['timeZone', { cron: '* * * * *', timeZone: '+02:00' }],
    ['timeZone', { cron: '* * * * *', timeZone: 7 }],
    ['cron', { cron: 7 }],
    ['cron', { cron: '* * * *' }],
    ['cron', { cron: '61 * * * *' }],
    ['cron', { cron: '@daily' }],
    ['cron', { cron: '2027-01-01T00:00:00' }],
    ['cron', { cron: '0 0 0 1 1 * 2027' }],
    ['cron', { cron: '0 0 30 2 *' }],
    ['cron', { cron: `${'1,'.repeat(100)}1 * * * *` }],
    ['payload', { every: '1m', payload: 'x'.repeat(1_000) }],
    ['options.until', { every: '1m', until: '1d' }],
    ['options.limit', { every: '1m', limit: 3 }],
    ['options.timezone', { every: '1m', timezone: 'UTC' }],
  ])('names %s of %j', (field, options) => {
    const refused = { code: 'DELAY_INVALID', field };
    expect(() => declared(options)).toThrow(expect.objectContaining(refused));
  });
});
