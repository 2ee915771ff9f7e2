import { describe, expect, it } from '@jest/globals';
import { applyDecorators, type Type } from '@nestjs/common';
import { OnDelay, type PayloadSchema, RepeatDelay } from 'nestjs-delay-queue';
import { z } from 'zod';
import type { Repeats } from '../../support/repeated.js';
import { explored, refusalOf } from './explored.js';

/** A class with one handler of `test.daily`, which recurs so. */
function recurring(all: Repeats[], { name = 'test.daily', schema = {} } = {}): Type {
  const repeats = all.map((repeat) =>
    RepeatDelay(name as 'test.daily', { payload: null, ...repeat } as never),
  );
  class Reports {
    @applyDecorators(...repeats)
    @OnDelay('test.daily', schema)
    daily(): void {}
  }
  return Reports;
}

const HOURLY = { every: '1h' } as const;

const keys = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ ...HOURLY, key: `k${at}` }));

describe('@RepeatDelay', () => {
  it('is found beside its handler, as often as it stands there', async () => {
    const cron = { cron: '0 3 * * *', timeZone: 'Europe/Berlin' };
    const hourly = { ...HOURLY, key: 'hourly', catchUp: 'none' as const };
    const registry = await explored([recurring([hourly, { ...cron, payload: 'eu' }])]);
    const name = 'test.daily';
    expect(registry.declarations()).toEqual([
      { name, key: 'repeat', payload: '"eu"', repeat: { ...cron, catchUp: 'latest' } },
      { name, key: 'hourly', payload: 'null', repeat: { every: 3_600_000, catchUp: 'none' } },
    ]);
  });

  it('of a method that overrides another takes the place of the other', async () => {
    const Base = recurring([HOURLY]) as new () => { daily(): void };
    class Sub extends Base {
      @RepeatDelay('test.daily', { every: '2h', payload: null })
      @OnDelay('test.daily')
      override daily(): void {}
    }
    const registry = await explored([Sub]);
    expect(registry.declarations()).toMatchObject([{ repeat: { every: 7_200_000 } }]);
  });

  it('is found a thousand times, and not once more', async () => {
    const registry = await explored([recurring(keys(1_000))]);
    expect(registry.declarations()).toHaveLength(1_000);
    const refusal = await refusalOf([recurring(keys(1_001))]);
    expect(refusal).toContain('there are more than 1000 @RepeatDelay');
  });

  it.each<[string, Type, RegExp]>([
    ['that is not acceptable', recurring([{ cron: '0 3 * *' }]), /: cron: must have five fields/],
    [
      'without a handler of that name beside it',
      recurring([HOURLY], { name: 'test.other' }),
      /: @RepeatDelay\('test\.other'\) needs an @OnDelay/,
    ],
    [
      'of a key that another has',
      recurring([HOURLY, HOURLY]),
      /key repeat: .* and Reports\.daily;/,
    ],
  ])('%s is refused, and named with class and method', async (_, provider, message) => {
    const refusal = await refusalOf([provider]);
    expect(refusal).toMatch(/^DELAY_CONFIG .*Reports\.daily/);
    expect(refusal).toMatch(message);
  });

  const number = z.object({ n: z.number().transform((n) => n * 2) });

  it.each<[string, PayloadSchema]>([
    ['synchronous', number],
    ['asynchronous', number.refine(async () => true)],
  ])('with a %s schema has a payload that fits, as it was given', async (_, payload) => {
    const withPayload = (given: unknown) =>
      recurring([{ ...HOURLY, payload: given }], { schema: { payload } });
    const registry = await explored([withPayload({ n: 3 })]);
    expect(registry.declarations()).toMatchObject([{ payload: '{"n":3}' }]);
    const at = 'DELAY_CONFIG Reports.daily: payload';
    expect(await refusalOf([withPayload({ n: '3' })])).toContain(`${at}.n: `);
    expect(await refusalOf([withPayload(null)])).toContain(`${at}: `);
  });

  it('with a payload that the codec cannot encode stops the start', async () => {
    const codec = {
      encode: (): Promise<string> => Promise.reject(new Error('no key')),
      decode: (json: string) => json,
    };
    expect(await refusalOf([recurring([HOURLY])], { options: { codec } })).toMatch(/^DELAY_CODEC /);
  });
});
