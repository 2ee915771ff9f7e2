import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import type { PayloadSchema, RepeatDelayOptions } from 'nestjs-delay-queue';
import { z } from 'zod';
import { OnDelay } from '../../../src/delay-queue/handlers/on-delay.decorator.js';
import { RepeatDelay } from '../../../src/delay-queue/handlers/repeat-delay.decorator.js';
import { explored } from './explored.js';

const HOURLY = { every: '1h', payload: null } as const;

const NUMBER = z.object({ n: z.number().transform((n) => n * 2) });

const checked = (payload: unknown, schema: PayloadSchema): Type => {
  class Checked {
    @RepeatDelay('test.daily', { every: '1h', payload } as RepeatDelayOptions)
    @OnDelay('test.daily', { payload: schema as never })
    run(): void {}
  }
  return Checked;
};

class Reports {
  @RepeatDelay('test.daily', { cron: '0 3 * * *', timeZone: 'Europe/Berlin', payload: 'eu' })
  @RepeatDelay('test.daily', { ...HOURLY, key: 'hourly', catchUp: 'none' })
  @OnDelay('test.daily')
  daily(): void {}
}

const refused = async (...providers: Type[]): Promise<string> => {
  const error: unknown = await explored(providers).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'DELAY_CONFIG' });
  return (error as Error).message;
};

const declareStatic = (): unknown => {
  class Static {
    @RepeatDelay('test.daily', HOURLY)
    static daily(): void {}
  }
  return Static;
};

describe('@RepeatDelay', () => {
  it('is found beside its handler, as often as it stands there', async () => {
    const registry = await explored([Reports]);
    expect(registry.declarations()).toEqual([
      {
        name: 'test.daily',
        key: 'repeat',
        payload: '"eu"',
        repeat: { cron: '0 3 * * *', timeZone: 'Europe/Berlin', catchUp: 'latest' },
      },
      {
        name: 'test.daily',
        key: 'hourly',
        payload: 'null',
        repeat: { every: 3_600_000, catchUp: 'none' },
      },
    ]);
  });

  it('that is not acceptable is named with class, method and option', async () => {
    class Wrong {
      @RepeatDelay('test.daily', { cron: '0 3 * *', payload: null })
      @OnDelay('test.daily')
      daily(): void {}
    }
    expect(await refused(Wrong)).toMatch(/^Wrong\.daily: cron: must have five fields/);
  });

  it('without a handler of that name beside it is refused', async () => {
    class Lonely {
      @RepeatDelay('test.other', HOURLY)
      @OnDelay('test.daily')
      daily(): void {}
    }
    expect(await refused(Lonely)).toMatch(/^Lonely\.daily: @RepeatDelay\('test\.other'\) stands/);
  });

  it('of a key that another has is refused, and names both', async () => {
    class Twice {
      @RepeatDelay('test.daily', HOURLY)
      @RepeatDelay('test.daily', { ...HOURLY, every: '2h' })
      @OnDelay('test.daily')
      daily(): void {}
    }
    expect(await refused(Twice)).toMatch(/key repeat: Twice\.daily and Twice\.daily/);
  });

  it('on a static method is refused', () => {
    expect(declareStatic).toThrow('@RepeatDelay stands on an ordinary method');
  });

  it('takes one interval, and the payload of its name', () => {
    class Types {
      // @ts-expect-error -- an interval is missing
      @RepeatDelay('test.a', { payload: { n: 1 } })
      // @ts-expect-error -- both at once
      @RepeatDelay('test.a', { every: '1h', cron: '* * * * *', payload: { n: 1 } })
      // @ts-expect-error -- the payload is missing
      @RepeatDelay('test.a', { every: '1h' })
      // @ts-expect-error -- a payload of another name
      @RepeatDelay('test.a', { every: '1h', payload: { text: '' } })
      @RepeatDelay('test.a', { every: '1h', payload: { n: 1 } })
      typed(): void {}
    }
    expect(Types).toBeDefined();
  });

  describe.each([
    ['synchronous', NUMBER],
    ['asynchronous', NUMBER.refine(async () => true)],
  ])('with a %s schema', (_, schema) => {
    it.each([
      ['of another shape', { n: '3' }, /^Checked\.run: payload\.n: /],
      ['that is left out', null, /^Checked\.run: payload: /],
    ])(
      'a payload %s is refused, and names class, method and path',
      async (__, payload, message) => {
        expect(await refused(checked(payload, schema))).toMatch(message);
      },
    );

    it('a payload that fits is declared as it was given', async () => {
      const registry = await explored([checked({ n: 3 }, schema)]);
      expect(registry.declarations()).toMatchObject([{ payload: '{"n":3}' }]);
    });
  });

  it('a payload that the codec cannot encode stops the start with its error', async () => {
    const codec = {
      encode: async (): Promise<string> => {
        throw new Error('no key');
      },
      decode: (json: string) => json,
    };
    await expect(explored([Reports], { options: { codec } })).rejects.toMatchObject({
      code: 'DELAY_CODEC',
    });
  });
});
