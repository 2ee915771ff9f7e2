import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type ArgumentsHost,
  type CanActivate,
  Controller,
  Inject,
  Injectable,
  type Provider,
  Scope,
  type Type,
  UseGuards,
  UsePipes,
} from '@nestjs/common';
import {
  APP_FILTER,
  APP_GUARD,
  APP_INTERCEPTOR,
  APP_PIPE,
  ExternalContextCreator,
  REQUEST,
} from '@nestjs/core';
import {
  type Delay,
  delayCallOf,
  type DelayEnhancers,
  type DelayRequest,
  OnDelay,
} from 'nestjs-delay-queue';
import { calledBy, Diary, Enhanced, enhancer } from './enhancer.js';
import { calls, CTX, DELAY, explored, refusalOf } from './explored.js';

const OfClass = enhancer('class');
const OfMethod = enhancer('method');
const Global = enhancer('global');

const GLOBAL: Provider[] = [APP_GUARD, APP_INTERCEPTOR, APP_PIPE, APP_FILTER].map((provide) => ({
  provide,
  useClass: Global,
}));

@Controller()
@Enhanced(OfClass)
class Orders {
  @Enhanced(OfMethod)
  @OnDelay('test.enhanced')
  on({ payload }: Delay<'test.enhanced'>): void {
    calls.push('handler');
    if (payload === 'fails') throw new Error('fails');
  }

  @OnDelay('test.without', { enhancers: false })
  @OnDelay('test.all', { enhancers: 'all' })
  other(): void {
    calls.push('handler');
  }
}

/** Nothing stands at it. */
@Injectable()
class Bare {
  @OnDelay('test.bare')
  on({ payload }: Delay<'test.bare'>): void {
    calls.push('bare');
    if (payload === 'fails') throw new Error('fails');
  }
}

const inside = (...words: string[]): string[] =>
  ['guard', 'interceptor', 'pipe'].flatMap((kind) => words.map((word) => `${word} ${kind}`));

describe('enhancers of handlers', () => {
  it.each<[DelayEnhancers, string[], string[]]>([
    [false, [], []],
    ['own', ['class', 'method'], ['method filter']],
    ['all', ['global', 'class', 'method'], ['method filter']],
  ])('%s: in the order of Nest, and the nearest filter', async (enhancers, words, filter) => {
    const providers = [Orders, ...GLOBAL];
    const expected = [...inside(...words), 'handler'];
    expect(await calledBy(providers, enhancers)).toEqual(expected);
    const failed = await calledBy(providers, enhancers, { payload: 'fails' });
    expect(failed).toEqual([...expected, ...filter, 'fails']);
  });

  it('a filter of the application hears what no other one catches', async () => {
    const given = { name: 'test.bare', payload: 'fails' };
    expect(await calledBy([Bare, ...GLOBAL], 'all', given)).toEqual([
      ...inside('global'),
      'bare',
      'global filter',
      'fails',
    ]);
  });

  it('without the option, and where nothing stands, the method is called as it is', async () => {
    const registry = await explored([Diary, Bare, Orders], { options: { enhancers: 'own' } });
    // No promise: each would cost a turn.
    for (const name of ['test.bare', 'test.without']) {
      expect(registry.get(name)?.invoke(DELAY, CTX)).toBeUndefined();
    }
    expect(calls).toEqual(['bare', 'handler']);
  });

  it('an option of a handler wins', async () => {
    const providers = [Orders, ...GLOBAL];
    const all = await calledBy(providers, false, { name: 'test.all' });
    expect(all).toEqual([...inside('global', 'class'), 'handler']);
    expect(await calledBy(providers, 'all', { name: 'test.without' })).toEqual(['handler']);
  });

  it.each<[string, Provider[], Type[]]>([
    ['controllers', [], [Orders]],
    ['providers of another token', [{ provide: 'TIMERS', useClass: Orders }], []],
  ])('%s: those of the class run, with what they need', async (_, providers, controllers) => {
    const called = await calledBy(providers, 'own', { controllers });
    expect(called).toEqual([...inside('class', 'method'), 'handler']);
  });

  it('of what comes from a factory Nest knows no classes: the start says so, and instances run', async () => {
    const made = { provide: 'MADE', useFactory: () => new Orders() };
    const options = { enhancers: 'own' } as const;
    expect(await refusalOf([Diary, made], { options })).toMatch(
      /^DELAY_CONFIG Orders\.on: @UseGuards\(Enhancer\) would not run, .* or write @UseGuards\(new Enhancer\(\)\)$/,
    );
    class Made {
      @UseGuards({ canActivate: () => calls.push('instance') > 0 })
      @OnDelay('test.made')
      on(): void {
        calls.push('handler');
      }
    }
    const right = { provide: 'MADE', useFactory: () => new Made() };
    expect(await calledBy([right], 'own', { name: 'test.made' })).toEqual(['instance', 'handler']);
  });

  describe('a Nest that has its parts elsewhere', () => {
    @Injectable({ scope: Scope.REQUEST })
    @Enhanced(OfClass)
    class OfEachCall extends Bare {}

    const fromContainer = ExternalContextCreator.fromContainer.bind(ExternalContextCreator);
    afterEach(() => void jest.restoreAllMocks());

    it.each<[string, object, string]>([
      ['a part', {}, 'guardsConsumer.tryActivate()'],
      [
        'a method',
        { filtersContextCreator: { create: () => {} } },
        'filtersContextCreator.createConcreteContext()',
      ],
      [
        'the list of filters',
        { filtersContextCreator: { create: () => ({}), createConcreteContext: () => [] } },
        'filters',
      ],
    ])('lacks %s: an error at start, and only with the option', async (_, changed, missing) => {
      jest.spyOn(ExternalContextCreator, 'fromContainer').mockImplementation((container) => {
        const given = Object.keys(changed).length > 0 ? fromContainer(container) : {};
        return Object.assign(given, changed) as ExternalContextCreator;
      });
      expect(await refusalOf([OfEachCall, Diary])).toBe('it starts');
      expect(await refusalOf([Bare], { options: { enhancers: 'own' } })).toBe('it starts');
      for (const found of [Orders, OfEachCall]) {
        const refusal = await refusalOf([found, Diary], { options: { enhancers: 'own' } });
        expect(refusal).toContain(
          'DELAY_CONFIG enhancers: must be false with this version of Nest',
        );
        expect(refusal).toContain(`has no ${missing}`);
      }
    });
  });
});

describe('enhancers with an instance for each call', () => {
  /** A guard that knows the delay of its request. */
  @Injectable({ scope: Scope.REQUEST })
  class RequestGuard implements CanActivate {
    constructor(
      @Inject(REQUEST) private readonly request: DelayRequest,
      private readonly diary: Diary,
    ) {}

    canActivate(): boolean {
      return this.diary.said.push(`request of ${this.request.delay.id}`) > 0;
    }
  }

  @Controller()
  @UseGuards(RequestGuard, enhancer('transient', Scope.TRANSIENT))
  class Asked {
    @OnDelay('test.asked')
    on(): void {}
  }

  it.each<[string, Provider[], Type[]]>([
    ['provider', [Asked], []],
    ['controller', [], [Asked]],
  ])('those of a %s see the delay of their call', async (_, providers, controllers) => {
    const options = { enhancers: 'own' } as const;
    const registry = await explored([Diary, ...providers], { controllers, options });
    const delays = [DELAY, { ...DELAY, id: '8' }];
    await Promise.all(delays.map((delay) => registry.get('test.asked')?.invoke(delay, CTX)));
    const guard = 'transient guard';
    expect(calls).toHaveLength(4);
    expect(calls).toEqual(expect.arrayContaining(['request of 7', 'request of 8', guard]));
  });

  it('a transient one alone has what it is injected with', async () => {
    @Injectable()
    @UseGuards(enhancer('transient', Scope.TRANSIENT))
    class Alone {
      @OnDelay('test.alone')
      on(): void {}
    }
    expect(await calledBy([Alone], 'own', { name: 'test.alone' })).toEqual(['transient guard']);
  });

  it.each([Scope.REQUEST, Scope.TRANSIENT])(
    'a global one of scope %s runs before a handler with one instance',
    async (scope) => {
      const provider = { provide: APP_GUARD, useClass: enhancer('scoped', scope), scope };
      const all = await calledBy([Bare, provider], 'all', { name: 'test.bare' });
      expect(all).toEqual(['scoped guard', 'bare']);
      expect(await calledBy([Bare, provider], 'own', { name: 'test.bare' })).toEqual(['bare']);
    },
  );

  it('a request-scoped handler runs with those of its class', async () => {
    @Injectable({ scope: Scope.REQUEST })
    @UseGuards(OfClass)
    class Scoped {
      constructor(@Inject(REQUEST) private readonly request: DelayRequest) {}

      @UsePipes(OfMethod)
      @OnDelay('test.scoped')
      on(): void {
        calls.push(`handler of ${this.request.delay.id}`);
      }
    }
    const global = { provide: APP_GUARD, useClass: Global };
    const own = ['class guard', 'method pipe', 'handler of 7'];
    expect(await calledBy([Scoped, global], 'own', { name: 'test.scoped' })).toEqual(own);
    const all = await calledBy([Scoped, global], 'all', { name: 'test.scoped' });
    expect(all).toEqual(['global guard', ...own]);
  });
});

const hostOf = (type: string) =>
  ({ getType: () => type, getArgs: () => [DELAY, CTX] }) as unknown as ArgumentsHost;

it('delayCallOf a request is undefined, whatever its arguments are', () => {
  expect(delayCallOf(hostOf('http'))).toBeUndefined();
  expect(delayCallOf(hostOf('delay'))?.delays).toEqual([DELAY]);
});
