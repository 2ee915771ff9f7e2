import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type ArgumentsHost,
  Controller,
  Injectable,
  type Provider,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import {
  APP_FILTER,
  APP_GUARD,
  APP_INTERCEPTOR,
  APP_PIPE,
  ExternalContextCreator,
} from '@nestjs/core';
import {
  type Delay,
  delayCallOf,
  DelayConfigError,
  type DelayEnhancers,
  OnDelay,
} from 'nestjs-delay-queue';
import { calledBy, Diary, enhancer } from './enhancer.js';
import { calls, CTX, DELAY, explored } from './explored.js';

const OfClass = enhancer('class');
const OfMethod = enhancer('method');
const Global = enhancer('global');

const GLOBAL: Provider[] = [APP_GUARD, APP_INTERCEPTOR, APP_PIPE, APP_FILTER].map((provide) => ({
  provide,
  useClass: Global,
}));

@Controller()
@UseGuards(OfClass)
@UseInterceptors(OfClass)
@UsePipes(OfClass)
@UseFilters(OfClass)
class Enhanced {
  @UseGuards(OfMethod)
  @UseInterceptors(OfMethod)
  @UsePipes(OfMethod)
  @UseFilters(OfMethod)
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

afterEach(() => {
  calls.length = 0;
});

const inside = (words: string[]): string[] =>
  ['guard', 'interceptor', 'pipe'].flatMap((kind) => words.map((word) => `${word} ${kind}`));

describe('enhancers of handlers', () => {
  it.each<[DelayEnhancers, string[]]>([
    [false, []],
    ['own', ['class', 'method']],
    ['all', ['global', 'class', 'method']],
  ])('%s: in the order of Nest', async (enhancers, words) => {
    const called = await calledBy([Enhanced, ...GLOBAL], enhancers);
    expect(called).toEqual([...inside(words), 'handler']);
  });

  it.each<[DelayEnhancers, string[]]>([
    ['own', ['method filter']],
    ['all', ['method filter']],
  ])('%s: the nearest filter hears of an error', async (enhancers, filters) => {
    const called = await calledBy([Enhanced, ...GLOBAL], enhancers, { payload: 'fails' });
    expect(called.slice(called.indexOf('handler') + 1)).toEqual([...filters, 'fails']);
  });

  it('a filter of the application hears what no other one catches', async () => {
    @Injectable()
    class Bare {
      @OnDelay('test.bare')
      on(): void {
        throw new Error('fails');
      }
    }
    expect(await calledBy([Bare, ...GLOBAL], 'all', { name: 'test.bare' })).toEqual([
      ...inside(['global']),
      'global filter',
      'fails',
    ]);
  });

  it('without the option, and where nothing stands, the method is called as it is', async () => {
    @Injectable()
    class Bare {
      @OnDelay('test.bare')
      on(): void {
        calls.push('bare');
      }
    }
    const registry = await explored([Diary, Bare, Enhanced], { options: { enhancers: 'own' } });
    // No promise: each would cost a turn.
    expect(registry.get('test.bare')?.invoke(DELAY, CTX)).toBeUndefined();
    expect(registry.get('test.without')?.invoke(DELAY, CTX)).toBeUndefined();
    expect(calls).toEqual(['bare', 'handler']);
  });

  it('an option of a handler wins', async () => {
    const all = await calledBy([Enhanced, ...GLOBAL], false, { name: 'test.all' });
    expect(all).toEqual([...inside(['global', 'class']), 'handler']);
    calls.length = 0;
    const none = await calledBy([Enhanced, ...GLOBAL], 'all', { name: 'test.without' });
    expect(none).toEqual(['handler']);
  });

  it.each<[string, Provider[], Type[]]>([
    ['controllers', [], [Enhanced]],
    ['providers of another token', [{ provide: 'TIMERS', useClass: Enhanced }], []],
  ])(
    '%s: those of the class run, with what they are injected with',
    async (_, providers, controllers) => {
      const called = await calledBy(providers, 'own', { controllers });
      expect(called).toEqual([...inside(['class', 'method']), 'handler']);
    },
  );

  it('of what comes from a factory Nest knows no classes: the start says so, before a guard is missing', async () => {
    const made = { provide: 'MADE', useFactory: () => new Enhanced() };
    const start = explored([Diary, made], { options: { enhancers: 'own' } });
    await expect(start).rejects.toThrow(DelayConfigError);
    await expect(start).rejects.toThrow(
      /^Enhanced\.on: @UseGuards\(Enhancer\) would not run, .* or write @UseGuards\(new Enhancer\(\)\)$/,
    );
  });

  it('a Nest that has its parts elsewhere is an error at start, and only with the option', async () => {
    @Injectable()
    class Plain {
      @OnDelay('test.plain')
      on(): void {}
    }
    const fromContainer = jest
      .spyOn(ExternalContextCreator, 'fromContainer')
      .mockReturnValue({} as ExternalContextCreator);
    try {
      const registry = await explored([Plain]);
      expect(registry.get('test.plain')).toBeDefined();
      const start = explored([Plain], { options: { enhancers: 'own' } });
      await expect(start).rejects.toThrow(DelayConfigError);
      await expect(start).rejects.toThrow(/^enhancers: must be false .* has no guards$/);
    } finally {
      fromContainer.mockRestore();
    }
  });

  it('instances run wherever the handler comes from', async () => {
    const guard = { canActivate: () => calls.push('instance') > 0 };
    class Made {
      @UseGuards(guard)
      @OnDelay('test.made')
      on(): void {
        calls.push('handler');
      }
    }
    const made = { provide: 'MADE', useFactory: () => new Made() };
    expect(await calledBy([made], 'own', { name: 'test.made' })).toEqual(['instance', 'handler']);
  });
});

const hostOf = (type: string) =>
  ({ getType: () => type, getArgs: () => [DELAY, CTX] }) as unknown as ArgumentsHost;

it('delayCallOf a request is undefined, whatever its arguments are', () => {
  expect(delayCallOf(hostOf('http'))).toBeUndefined();
  expect(delayCallOf(hostOf('delay'))?.delays).toEqual([DELAY]);
});
