import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Inject, Injectable, Scope } from '@nestjs/common';
import { calls, CTX, DELAY, explored, Timers } from './explored.js';
import { REQUEST } from '@nestjs/core';
import type { Delay } from '../../../src/delay-queue/delay/delay.js';
import type { DelayBatchRequest } from '../../../src/delay-queue/handlers/invocation/delay-request.js';
import ts from 'typescript';
import { runInThisContext } from 'node:vm';
import { DelayConfigError, OnDelay } from 'nestjs-delay-queue';

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

  it.each<[object, string]>([
    [{ concurrency: 0 }, 'concurrency: must be a whole number from 1 to 10000, not 0'],
    [{ timeout: '30x' }, 'timeout: must be milliseconds or a text'],
    [{ backoff: { base: '1h' } }, 'backoff.base: must not exceed backoff.max'],
    [{ transactional: 'yes' }, 'transactional: must be true or false, not "yes"'],
    [{ batch: 0 }, 'batch: must be a whole number from 1 to 1000, not 0'],
    [{ batch: 1_001 }, 'batch: must be a whole number from 1 to 1000, not 1001'],
    [{ batch: '200' }, 'batch: must be a whole number from 1 to 1000, not "200"'],
    [{ enhancers: true }, `enhancers: must be 'own' (of the handler's class and method), 'all'`],
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

describe('a handler that the explorer found', () => {
  afterEach(() => {
    calls.length = 0;
  });

  it('invokes the method on its instance, with both arguments', async () => {
    const registry = await explored([Timers]);
    await registry.get('test.a')?.invoke(DELAY, CTX);
    expect(calls).toEqual([['timers', DELAY, CTX]]);
  });

  it('a request-scoped provider of a batch handler gets one instance for the whole batch', async () => {
    @Injectable({ scope: Scope.REQUEST })
    class Visit {
      constructor(@Inject(REQUEST) readonly request: DelayBatchRequest) {}
    }
    @Injectable()
    class Scoped {
      constructor(readonly visit: Visit) {}

      @OnDelay('test.scoped', { batch: 10 })
      on(delays: Delay<'test.scoped'>[]): void {
        calls.push({ delays, request: this.visit.request });
      }
    }
    const registry = await explored([Visit, { provide: 'SCOPED', useClass: Scoped }]);
    const delays = [DELAY, { ...DELAY, id: '8' }];
    await registry.get('test.scoped')?.invoke(delays, CTX);
    await registry.get('test.scoped')?.invoke([DELAY], CTX);
    expect(calls).toEqual([
      { delays, request: { delays, ctx: CTX } },
      { delays: [DELAY], request: { delays: [DELAY], ctx: CTX } },
    ]);
  });

  it('a decorator above that wraps the method does not lose the handler', async () => {
    class Wrapped {
      @wrap
      @OnDelay('test.wrapped')
      on(): void {
        calls.push('method');
      }
    }
    const registry = await explored([Wrapped]);
    await registry.get('test.wrapped')?.invoke(DELAY, CTX);
    expect(calls).toEqual(['wrapper', 'method']);
  });
});

/** What tracing and transaction decorators do. */
function wrap(
  _target: object,
  _name: string,
  descriptor: TypedPropertyDescriptor<() => void>,
): void {
  const method = descriptor.value;
  descriptor.value = function wrapper(this: unknown): void {
    calls.push('wrapper');
    method?.call(this);
  };
}

it('@OnDelay compiled as a standard decorator says which options of the compiler are missing', () => {
  const source = `(OnDelay) => { class Orders { @OnDelay('order.close') close() {} } return Orders; }`;
  const compilerOptions = { target: ts.ScriptTarget.ES2022, experimentalDecorators: false };
  const { outputText } = ts.transpileModule(source, { compilerOptions });
  const define = runInThisContext(outputText) as (decorator: unknown) => unknown;
  expect(() => define(OnDelay)).toThrow(DelayConfigError);
  expect(() => define(OnDelay)).toThrow(/^close: .*"experimentalDecorators": true/);
});
