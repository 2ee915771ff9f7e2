import { afterEach, describe, expect, it } from '@jest/globals';
import {
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
import { APP_GUARD, REQUEST } from '@nestjs/core';
import { type DelayRequest, OnDelay } from 'nestjs-delay-queue';
import { calledBy, Diary, enhancer } from './enhancer.js';
import { calls, CTX, DELAY, explored } from './explored.js';

const OfClass = enhancer('class');
const OfMethod = enhancer('method');

/** A guard that knows the delay of its request. */
@Injectable({ scope: Scope.REQUEST })
class RequestGuard implements CanActivate {
  constructor(
    @Inject(REQUEST) private readonly request: DelayRequest,
    private readonly diary: Diary,
  ) {}

  canActivate(): boolean {
    this.diary.said.push(['request of', this.request.delay?.id]);
    return true;
  }
}

@Injectable()
@UseGuards(OfClass)
class Enhanced {
  @OnDelay('test.enhanced')
  on(): void {
    calls.push('handler');
  }
}

afterEach(() => {
  calls.length = 0;
});

describe('enhancers with an instance for each call', () => {
  @Controller()
  @UseGuards(RequestGuard, enhancer('transient', Scope.TRANSIENT))
  class Asked {
    @OnDelay('test.asked')
    on(): void {
      calls.push('handler');
    }
  }

  it.each<[string, Provider[], Type[]]>([
    ['provider', [Asked], []],
    ['controller', [], [Asked]],
  ])(
    'a request-scoped guard of a %s sees the delay of its call',
    async (_, providers, controllers) => {
      const options = { enhancers: 'own' as const };
      const registry = await explored([Diary, ...providers], { controllers, options });
      const handler = registry.get('test.asked');
      await Promise.all([handler?.invoke(DELAY, CTX), handler?.invoke({ ...DELAY, id: '8' }, CTX)]);
      expect(calls.filter(Array.isArray)).toEqual([
        ['request of', '7'],
        ['request of', '8'],
      ]);
      expect(calls.filter((call) => call === 'transient guard')).toHaveLength(2);
    },
  );

  it('a transient one alone has what it is injected with', async () => {
    @Injectable()
    @UseGuards(enhancer('transient', Scope.TRANSIENT))
    class Alone {
      @OnDelay('test.alone')
      on(): void {
        calls.push('handler');
      }
    }
    const called = await calledBy([Alone], 'own', { name: 'test.alone' });
    expect(called).toEqual(['transient guard', 'handler']);
  });

  it.each([Scope.REQUEST, Scope.TRANSIENT])(
    'a global one of scope %s runs before a handler with one instance',
    async (scope) => {
      const provider = { provide: APP_GUARD, useClass: enhancer('scoped', scope), scope };
      const called = await calledBy([Enhanced, provider], 'all');
      expect(called[0]).toBe('scoped guard');
      expect(called.at(-1)).toBe('handler');
      calls.length = 0;
      expect((await calledBy([Enhanced, provider], 'own'))[0]).toBe('class guard');
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
        calls.push(['handler of', this.request.delay.id]);
      }
    }
    const global = { provide: APP_GUARD, useClass: enhancer('global') };
    const own = ['class guard', 'method pipe', ['handler of', '7']];
    expect(await calledBy([Scoped, global], 'own', { name: 'test.scoped' })).toEqual(own);
    calls.length = 0;
    const all = await calledBy([Scoped, global], 'all', { name: 'test.scoped' });
    expect(all).toEqual(['global guard', ...own]);
  });
});
