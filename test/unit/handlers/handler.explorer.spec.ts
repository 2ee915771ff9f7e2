import { describe, expect, it } from '@jest/globals';
import { Controller } from '@nestjs/common';
import { DelayConfigError } from '../../../src/delay-queue/delay/delay.errors.js';
import { OnDelay } from '../../../src/delay-queue/handlers/on-delay.decorator.js';
import { explored, Timers } from './explored.js';

describe('HandlerExplorer', () => {
  it('finds the decorated methods, with the defaults of the module', async () => {
    const registry = await explored([Timers]);
    expect(registry.names().toSorted()).toEqual(['test.a', 'test.b', 'test.c', 'test.sync']);
    expect(registry.all()).toHaveLength(4);
    expect(registry.get('test.a')).toMatchObject({
      name: 'test.a',
      transactional: false,
      concurrency: 10,
      timeoutMs: 20_000,
      leaseMs: 60_000,
      maxAttempts: 10,
      place: 'Timers.a (RootTestModule)',
    });
    expect(registry.get('test.unknown')).toBeUndefined();
  });

  it('the lease of a transactional handler lasts its whole timeout', async () => {
    const registry = await explored([Timers]);
    expect(registry.get('test.b')).toMatchObject({
      transactional: true,
      concurrency: 3,
      timeoutMs: 120_000,
      leaseMs: 120_000,
      maxAttempts: 1,
    });
  });

  it('a handler takes a single delay unless its batch says otherwise, a batch of one too', async () => {
    class Batches {
      @OnDelay('test.one', { batch: 1 })
      one(): void {}

      @OnDelay('test.many', { batch: 1_000, transactional: true })
      many(): void {}

      @OnDelay('test.undefined', { batch: undefined } as object)
      single(): void {}
    }
    const registry = await explored([Timers, Batches]);
    const names = ['test.a', 'test.undefined', 'test.one', 'test.many'];
    expect(names.map((name) => registry.get(name)?.batch)).toEqual([null, null, 1, 1_000]);
  });

  it('finds handlers of controllers, factories and values, and aliases only once', async () => {
    @Controller()
    class Http {
      @OnDelay('test.http')
      on(): void {}
    }
    class Made {
      @OnDelay('test.made')
      on(): void {}
    }
    class Given {
      @OnDelay('test.given')
      on(): void {}
    }
    const given = new Given();
    const registry = await explored(
      [
        { provide: 'MADE', useFactory: () => new Made() },
        { provide: 'ALIAS', useExisting: 'MADE' },
        { provide: 'BY_HAND', useFactory: (made: Made) => made, inject: ['MADE'] },
        { provide: 'GIVEN', useValue: given },
        { provide: 'NOTHING', useValue: null },
        { provide: 'TEXT', useValue: 'text' },
        { provide: 'BARE', useValue: Object.create(null) },
      ],
      { controllers: [Http] },
    );
    expect(registry.names().toSorted()).toEqual(['test.given', 'test.http', 'test.made']);
  });

  it('two handlers of one name are an error that names both places', async () => {
    class Others {
      @OnDelay('test.a')
      again(): void {}
    }
    const act = explored([Timers, Others]);
    await expect(act).rejects.toThrow(DelayConfigError);
    await expect(act).rejects.toThrow(
      'two handlers for the delay test.a: Timers.a (RootTestModule) and Others.again (RootTestModule)',
    );
  });

  it('one class provided by two modules is two handlers', async () => {
    class Feature {}
    const act = explored([Timers], { imports: [{ module: Feature, providers: [Timers] }] });
    await expect(act).rejects.toThrow(/Timers\.a \((RootTestModule|Feature)\) and Timers\.a \(/);
  });

  it.each<[object, string]>([
    [{ concurrency: 0 }, 'concurrency: must be a whole number from 1 to 10000, not 0'],
    [{ timeout: '30x' }, 'timeout: must be milliseconds or a text'],
    [{ maxAttempts: 0 }, 'maxAttempts: must be a whole number from 1 to 1000'],
    [{ backoff: { base: '1h' } }, 'backoff.base: must not exceed backoff.max'],
    [{ transactional: 'yes' }, 'transactional: must be true or false, not "yes"'],
    [{ batch: 0 }, 'batch: must be a whole number from 1 to 1000, not 0'],
    [{ batch: -1 }, 'batch: must be a whole number from 1 to 1000, not -1'],
    [{ batch: 1.5 }, 'batch: must be a whole number from 1 to 1000, not 1.5'],
    [{ batch: 1_001 }, 'batch: must be a whole number from 1 to 1000, not 1001'],
    [{ batch: NaN }, 'batch: must be a whole number from 1 to 1000, not NaN'],
    [{ batch: Infinity }, 'batch: must be a whole number from 1 to 1000, not Infinity'],
    [{ batch: '200' }, 'batch: must be a whole number from 1 to 1000, not "200"'],
    [{ batch: null }, 'batch: must be a whole number from 1 to 1000, not null'],
    [{ batch: true }, 'batch: must be a whole number from 1 to 1000, not true'],
    [{ batch: [5] }, 'batch: must be a whole number from 1 to 1000, not an array'],
    [{ bach: 5 }, 'options.bach: is not an option; did you mean batch?'],
    [{ retries: 3 }, 'options.retries: is not an option'],
    [{ transactionl: true }, 'options.transactionl: is not an option; did you mean transactional?'],
  ])('unusable options %j name class and method', async (options, why) => {
    class Wrong {
      @OnDelay('test.wrong', options)
      on(): void {}
    }
    await expect(explored([Wrong])).rejects.toThrow(
      new DelayConfigError(`Wrong.on: ${why}`).message,
    );
  });

  it('an unusable name names class and method', async () => {
    class Wrong {
      @OnDelay('test.with space')
      on(): void {}
    }
    await expect(explored([Wrong])).rejects.toThrow('Wrong.on: name: must be a text like');
  });

  it('a static method cannot handle', () => {
    expect(() => {
      class Wrong {
        @OnDelay('test.static')
        static on(): void {}
      }
      return Wrong;
    }).toThrow(DelayConfigError);
  });
});
