import { describe, expect, it } from '@jest/globals';
import { runInThisContext } from 'node:vm';
import { Controller, Inject, Injectable, Module, Scope, type Type } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import {
  type Delay,
  type DelayBatchRequest,
  DelayConfigError,
  type DelayRequest,
  OnDeadDelay,
  OnDelay,
  OnDelayEvent,
  RepeatDelay,
} from 'nestjs-delay-queue';
import ts from 'typescript';
import { parseLimit } from '../../../src/delay-queue/core/handlers/handler-limits.js';
import { calls, CTX, DELAY, explored, refusalOf } from './explored.js';

/** A class with one handler. */
function handlerOf(name: `test.${string}`, options: object = {}): Type {
  class Handler {
    @OnDelay(name, options)
    on(): void {
      calls.push(name);
    }
  }
  return Handler;
}

/** What tracing and transaction decorators do. */
const wrap: MethodDecorator = (_target, _name, descriptor) => {
  const method = descriptor.value as () => void;
  const wrapper = () => calls.push('wrapper') && method();
  descriptor.value = wrapper as never;
};

const method = (value: unknown): PropertyDescriptor => ({ value, configurable: true });

describe('what is found at start', () => {
  it('is each decorated method, with the defaults of the module', async () => {
    class Timers {
      @OnDelay('test.a')
      a(): void {}

      @OnDelay('test.b', { transactional: true })
      @OnDelay('test.c')
      several(): void {}

      notAHandler(): void {}
    }
    const registry = await explored([Timers], { options: { timeout: '20s' } });
    expect(registry.names().toSorted()).toEqual(['test.a', 'test.b', 'test.c']);
    expect(registry.get('test.a')).toMatchObject({
      name: 'test.a',
      transactional: false,
      concurrency: 10,
      timeoutMs: 20_000,
      leaseMs: 60_000,
      maxAttempts: 10,
      location: 'Timers.a (RootTestModule)',
    });
    expect(registry.get('test.b')?.transactional).toBe(true);
    expect(registry.get('test.unknown')).toBeUndefined();
  });

  it('stands in controllers, factories and values, too, and in aliases only once', async () => {
    const [Http, Made, Given] = ['http', 'made', 'given'].map((name) => handlerOf(`test.${name}`));
    Controller()(Http!);
    const providers = [
      { provide: 'MADE', useFactory: () => new Made!() },
      { provide: 'ALIAS', useExisting: 'MADE' },
      { provide: 'BY_HAND', useFactory: (made: object) => made, inject: ['MADE'] },
      { provide: 'GIVEN', useValue: new Given!() },
      { provide: 'NOTHING', useValue: null },
      { provide: 'TEXT', useValue: 'text' },
      { provide: 'BARE', useValue: Object.create(null) },
    ];
    const registry = await explored(providers, { controllers: [Http!] });
    expect(registry.names().toSorted()).toEqual(['test.given', 'test.http', 'test.made']);
  });

  it.each<[object, number]>([
    [{}, 5_000],
    [{ transactional: true }, 5_000],
    [{ transactional: true, timeout: '4600ms' }, 5_100],
    [{ transactional: true, timeout: '20s' }, 20_500],
  ])(
    'has a lease that covers its timeout and the wait for a slot, if it is not renewed: %j',
    async (given, ms) => {
      const options = { lease: '5s', timeout: '1s' } as const;
      const registry = await explored([handlerOf('test.a', given)], { options });
      expect(registry.get('test.a')?.leaseMs).toBe(ms);
    },
  );

  it.each<[object, string]>([
    [{ batch: 1_001 }, 'batch: must be a whole number from 1 to 1000, not 1001'],
    [{ backoff: { base: '1h' } }, 'backoff.base: must not exceed backoff.max'],
    [{ timeout: '25d' }, 'timeout: must be from 1ms to 24d'],
  ])('has options within their bounds: %j', async (options, why) => {
    const refusal = await refusalOf([handlerOf('test.wrong', options)]);
    expect(refusal).toContain(`DELAY_CONFIG Handler.on: ${why}`);
  });
});
describe('a method that is decorated', () => {
  const NOT_METHODS: [string, at: (of: Type) => unknown[]][] = [
    ['a class', (of) => [of]],
    ['a static method', (of) => [of, 'on', method(() => {})]],
    ['a method named by a symbol', (of) => [of.prototype, Symbol('on'), method(() => {})]],
    ['a getter or setter', (of) => [of.prototype, 'on', { get: () => () => {} }]],
    ['a getter or setter', (of) => [of.prototype, 'on', { set: () => {} }]],
    ['a property', (of) => [of.prototype, 'on']],
    ['a property', (of) => [of.prototype, 'on', method(5)]],
    ['a parameter', (of) => [of.prototype, 'on', 0]],
    ['a generator', (of) => [of.prototype, 'on', method(function* () {})]],
    ['an async generator', (of) => [of.prototype, 'on', method(async function* () {})]],
  ];
  const DECORATORS: [string, unknown][] = [
    ['@OnDelay', OnDelay('test.a')],
    ['@OnDeadDelay', OnDeadDelay('test.a')],
    ['@OnDelayEvent', OnDelayEvent('dead')],
    ['@RepeatDelay', RepeatDelay('test.c', { every: '1h', payload: null })],
  ];
  const ALL = DECORATORS.flatMap(([name, decorate]) =>
    NOT_METHODS.map(([what, at]) => ({ name, decorate: decorate as () => void, what, at })),
  );

  it.each(ALL)('with $name is not $what', ({ name, decorate, what, at }) => {
    class Wrong {}
    const act = () => Reflect.apply(decorate, undefined, at(Wrong));
    expect(act).toThrow(DelayConfigError);
    expect(act).toThrow(`${name} belongs on an ordinary method, not on ${what}`);
  });

  it.each<[string, (base: Type) => Type]>([
    [
      'a class that extends it',
      (base) => {
        class Later extends base {
          get on(): () => void {
            return () => {};
          }
        }
        return Later;
      },
    ],
    [
      'a decorator above it',
      (base) => {
        Object.defineProperty(base.prototype, 'on', { get: () => () => {} });
        return base;
      },
    ],
  ])('and made a getter by %s, stops the start', async (_, make) => {
    class Base {
      @OnDelay('test.base')
      on(): void {}
    }
    expect(await refusalOf([make(Base)])).toMatch(
      /DELAY_CONFIG \w+\.on: @OnDelay is on a method that has become a getter or setter/,
    );
  });

  it('as a standard one says which options of the compiler are missing', () => {
    const source = `(OnDelay) => { class Orders { @OnDelay('order.close') close() {} } return Orders; }`;
    const compilerOptions = { target: ts.ScriptTarget.ES2022, experimentalDecorators: false };
    const { outputText } = ts.transpileModule(source, { compilerOptions });
    const define = runInThisContext(outputText) as (decorator: unknown) => unknown;
    expect(() => define(OnDelay)).toThrow(DelayConfigError);
    expect(() => define(OnDelay)).toThrow(/^close: .*"experimentalDecorators": true/);
  });

  it('and wrapped, as tracing does, is called through its wrapper', async () => {
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
it('a factory whose instances belong to requests makes one for each attempt', async () => {
  let made = 0;
  class Orders {
    readonly no = (made += 1);

    @OnDelay('test.a')
    close({ id }: Delay): void {
      calls.push([this.no, id]);
    }
  }
  const provider = { provide: Orders, scope: Scope.REQUEST, useFactory: () => new Orders() };
  // A token without a prototype is no class.
  const other = { ...provider, provide: (() => {}) as never, useFactory: () => ({}) };
  const handler = (await explored([provider, other])).get('test.a')!;
  for (const id of ['1', '2']) await handler.invoke({ ...DELAY, id }, CTX);
  expect(calls).toEqual([
    [1, '1'],
    [2, '2'],
  ]);
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
  const batches = [[DELAY, { ...DELAY, id: '8' }], [DELAY]];
  for (const delays of batches) await registry.get('test.scoped')?.invoke(delays, CTX);
  expect(calls).toEqual(batches.map((delays) => ({ delays, request: { delays, ctx: CTX } })));
});
describe('of two modules', () => {
  @Module({})
  class One {}
  @Module({})
  class Other {}

  @Injectable({ scope: Scope.REQUEST })
  class Mails {
    constructor(
      @Inject(REQUEST) private readonly request: DelayRequest,
      @Inject('place') private readonly place: string,
    ) {}

    @OnDelay('test.mail')
    on(): void {
      calls.push(['mail', this.place, this.request.delay.id]);
    }

    @OnDeadDelay('test.mail')
    dead(): void {
      calls.push(['dead mail', this.place]);
    }
  }

  @Injectable({ scope: Scope.TRANSIENT })
  class Texts {
    constructor(@Inject('place') private readonly place: string) {}

    @OnDelay('test.text')
    on(): void {
      calls.push(['text', this.place]);
    }
  }

  const HandlerToken = class {};

  it.each([
    ['a class', HandlerToken],
    ['a text', 'HANDLER'],
  ])('handlers under one token, %s, are each those of their module', async (_, provide) => {
    const moduleOf = (module: Type, useClass: Type, scope: Scope) => ({
      module,
      providers: [
        { provide, useClass, scope },
        { provide: 'place', useValue: module.name },
      ],
    });
    const imports = [moduleOf(One, Mails, Scope.REQUEST), moduleOf(Other, Texts, Scope.TRANSIENT)];
    const registry = await explored([], { imports });
    const mail = registry.get('test.mail');
    await mail?.invoke(DELAY, CTX);
    await registry.get('test.text')?.invoke(DELAY, CTX);
    await mail?.onDead?.invoke(DELAY, { ...CTX, error: '', cause: undefined } as never);
    expect(calls).toEqual([
      ['mail', 'One', '7'],
      ['text', 'Other'],
      ['dead mail', 'One'],
    ]);
  });

  it('one class is two handlers of one name, which is refused and names both', async () => {
    const place = { provide: 'place', useValue: '' };
    const imports = [One, Other].map((module) => ({ module, providers: [Texts, place] }));
    expect(await refusalOf([], { imports })).toBe(
      'DELAY_CONFIG two handlers for the delay test.text: Texts.on (One) and Texts.on (Other)',
    );
  });
});

describe('limits of a handler', () => {
  it('are none of what is not said', () => {
    const unlimited = { burst: 0, refillPerMs: 0 };
    expect(parseLimit({ concurrency: 5 }, 'global')).toEqual({ concurrency: 5, ...unlimited });
  });

  it.each([1, 2, 24, 25, 49, 50, 100, 100_000])('let %d begin, and hardly fewer', (max) => {
    const all = parseLimit({ rateLimit: { max, per: '1m' } }, 'global');
    const refilled = all.refillPerMs * 60_000;
    // What a full bucket holds, and what it gets meanwhile; one by one, the last begins when the minute is over.
    expect(all.burst === 1 ? refilled : all.burst + refilled).toBeCloseTo(max, 6);
    expect(refilled).toBeGreaterThanOrEqual(max * 0.96);
  });

  /** Those of another type are in `test/hostile/wrong-options.spec.ts`. */
  it.each<[unknown, string]>([
    [{}, 'global'],
    [{ concurrency: 10_001 }, 'global.concurrency'],
    [{ rateLimit: { max: 100_001, per: '1s' } }, 'global.rateLimit.max'],
    [{ rateLimit: { max: 1, per: '2d' } }, 'global.rateLimit.per'],
    [{ rateLimit: { max: 1, per: 99 } }, 'global.rateLimit.per'],
  ])('%j are refused', (limits, field) => {
    expect(() => parseLimit(limits, 'global')).toThrow(expect.objectContaining({ field }));
  });
});
