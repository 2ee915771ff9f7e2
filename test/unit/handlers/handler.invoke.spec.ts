import { afterEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { DelayEvents } from '../../../src/delay-queue/delay/delay.events.js';
import type { Delay } from '../../../src/delay-queue/delay/delay.js';
import type { DelayBatchRequest, DelayRequest } from '../../../src/delay-queue/handlers/handler.js';
import { OnDelay } from '../../../src/delay-queue/handlers/on-delay.decorator.js';
import { calls, CTX, DELAY, explored, Timers } from './explored.js';

describe('a handler that the explorer found', () => {
  afterEach(() => {
    calls.length = 0;
  });

  it('invokes the method on its instance, with both arguments', async () => {
    const registry = await explored([Timers]);
    await registry.get('test.a')?.invoke(DELAY, CTX);
    expect(calls).toEqual([['timers', DELAY, CTX]]);
  });

  it('throws or rejects as the method does, at once or late', async () => {
    const registry = await explored([Timers]);
    expect(() => registry.get('test.sync')?.invoke(DELAY, CTX)).toThrow('at once');
    await expect(registry.get('test.c')?.invoke(DELAY, CTX)).rejects.toThrow('late');
  });

  it('a request-scoped provider gets an instance of its own for each attempt', async () => {
    const selves = new Set<Scoped>();
    @Injectable({ scope: Scope.REQUEST })
    class Visit {
      constructor(@Inject(REQUEST) readonly request: DelayRequest) {}
    }
    @Injectable()
    class Scoped {
      constructor(readonly visit: Visit) {}

      @OnDelay('test.scoped')
      on(delay: Delay<'test.scoped'>): void {
        selves.add(this);
        calls.push({ delay, request: this.visit.request });
      }
    }
    const registry = await explored([Visit, { provide: 'SCOPED', useClass: Scoped }]);
    const handler = registry.get('test.scoped');
    await Promise.all([handler?.invoke(DELAY, CTX), handler?.invoke({ ...DELAY, id: '8' }, CTX)]);
    expect(calls).toMatchObject([
      { delay: { id: '7' }, request: { delay: { id: '7' }, ctx: CTX } },
      { delay: { id: '8' }, request: { delay: { id: '8' }, ctx: CTX } },
    ]);
    expect(selves.size).toBe(2);
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

  it('a transient provider is constructed before it handles', async () => {
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient {
      readonly constructed = true;

      @OnDelay('test.transient')
      on(): void {
        calls.push(this.constructed);
      }
    }
    const registry = await explored([Transient]);
    await registry.get('test.transient')?.invoke(DELAY, CTX);
    expect(calls).toEqual([true]);
  });

  it('an overridden method is still the handler of its name, once', async () => {
    class Special extends Timers {
      override a(): void {
        calls.push('special');
      }
    }
    const registry = await explored([Special]);
    await registry.get('test.a')?.invoke(DELAY, CTX);
    expect(calls).toEqual(['special']);
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

  it('a backoff function that fails gets the default and is reported once', async () => {
    class Broken {
      @OnDelay('test.broken', {
        backoff: () => {
          throw new Error('no idea');
        },
      })
      on(): void {}
    }
    const events = new DelayEvents();
    const advice: string[] = [];
    events.on('advice', ({ message }) => advice.push(message));
    const registry = await explored([Broken], { events });
    const pauses = [1, 2].map((attempt) => registry.get('test.broken')?.backoffMs(attempt));
    expect(pauses[0]).toBeGreaterThanOrEqual(800);
    expect(pauses[1]).toBeGreaterThanOrEqual(1_600);
    expect(advice).toEqual([
      "Broken.on: its backoff fails, so the module's is used: Error: no idea",
    ]);
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
