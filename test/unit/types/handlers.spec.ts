import { describe, expect, it } from '@jest/globals';
import {
  type BatchHandler,
  type DeadDelayContext,
  type DeadDelayHandler,
  type DecoratorOf,
  type Delay,
  type DelayBatchContext,
  type DelayContext,
  type LimitOptions,
  OnDeadDelay,
  OnDelay,
  type OnDelayBatchOptions,
  type OnDelayOptions,
  type PlainHandler,
  RepeatDelay,
  type RepeatDelayOptions,
  type TransactionalBatchHandler,
  type TransactionalDelayBatchContext,
  type TransactionalDelayContext,
  type TransactionalHandler,
} from 'nestjs-delay-queue';
import { onDelayMetadata } from '../../../src/delay-queue/handlers/on-delay.decorator.js';
import '../../support/delay-payloads.js';

/**
 * `tsc` is the judge here: each `@ts-expect-error` is a line that must not compile, and one that
 * does compile fails the type check. The assertions only keep the classes in use.
 */
describe('types of @OnDelay', () => {
  it('a plain handler takes the payload of its name, and may leave arguments out', () => {
    class Handlers {
      @OnDelay('test.a')
      whole(delay: Delay<'test.a'>, ctx: DelayContext): void {
        expect([delay.payload.n.toFixed(), ctx.signal]).toBeDefined();
      }

      @OnDelay('test.b', { concurrency: 5, timeout: '10s', backoff: (attempt) => attempt * 1_000 })
      async noContext(delay: Delay<'test.b'>): Promise<void> {
        await Promise.resolve(delay.payload.text.length);
      }

      @OnDelay('test.anything', { transactional: false, backoff: { base: '5s' } })
      nothing(): void {}

      @OnDelay('test.a')
      @OnDelay('test.b')
      both(delay: Delay<'test.a' | 'test.b'>): void {
        expect(delay.name === 'test.a').toBeDefined();
      }
    }
    expect(onDelayMetadata(Handlers.prototype, 'both').map(({ name }) => name)).toEqual([
      'test.a',
      'test.b',
    ]);
  });

  it('a transactional handler gets a manager, a plain one does not', () => {
    class Handlers {
      @OnDelay('test.a', { transactional: true })
      right(delay: Delay<'test.a'>, { manager }: TransactionalDelayContext): void {
        expect([delay, manager]).toBeDefined();
      }

      @OnDelay('test.a', { transactional: true })
      needsNoManager(_delay: Delay<'test.a'>, _ctx: DelayContext): void {}

      // @ts-expect-error -- without `transactional: true` there is no manager
      @OnDelay('test.a')
      wrong(_delay: Delay<'test.a'>, _ctx: TransactionalDelayContext): void {}

      // @ts-expect-error -- nor with `transactional: false`
      @OnDelay('test.a', { transactional: false })
      wrongToo(_delay: Delay<'test.a'>, _ctx: TransactionalDelayContext): void {}
    }
    expect(Handlers).toBeDefined();
  });

  it('a batch handler takes a list, and a context that says something of one delay', () => {
    class Handlers {
      @OnDelay('test.a', { batch: 5 })
      right(delays: Delay<'test.a'>[], ctx: DelayBatchContext): void {
        for (const delay of delays) ctx.fail(delay, delay.payload.n.toFixed());
      }

      @OnDelay('test.a', { batch: 5, transactional: true })
      async fenced([first]: Delay<'test.a'>[], ctx: TransactionalDelayBatchContext): Promise<void> {
        await ctx.manager.query('');
        if (first) ctx.postpone(first, '5m');
      }

      @OnDelay('test.a', { batch: 5, transactional: true })
      readsOnly(_delays: readonly Delay<'test.a'>[], _ctx: DelayContext): void {}

      @OnDelay('test.a', { batch: 5, concurrency: 2, timeout: '10s', backoff: { base: '5s' } })
      nothing(): void {}

      // @ts-expect-error -- with `batch` it gets a list
      @OnDelay('test.a', { batch: 5 })
      single(_delay: Delay<'test.a'>): void {}

      // @ts-expect-error -- in a transaction, too
      @OnDelay('test.a', { batch: 5, transactional: true })
      fencedSingle(_delay: Delay<'test.a'>, _ctx: TransactionalDelayContext): void {}

      // @ts-expect-error -- without `batch` it gets a single delay
      @OnDelay('test.a')
      list(_delays: Delay<'test.a'>[]): void {}

      // @ts-expect-error -- and nothing to say of one
      @OnDelay('test.a')
      says(_delay: Delay<'test.a'>, _ctx: DelayBatchContext): void {}

      // @ts-expect-error -- without `transactional: true` there is no manager
      @OnDelay('test.a', { batch: 5 })
      noManager(_delays: Delay<'test.a'>[], _ctx: TransactionalDelayBatchContext): void {}

      // @ts-expect-error -- the payload of another name
      @OnDelay('test.a', { batch: 5 })
      otherName(_delays: Delay<'test.b'>[]): void {}

      // @ts-expect-error -- a text is no number of delays
      @OnDelay('test.a', { batch: '5' })
      text(_delays: Delay<'test.a'>[]): void {}
    }
    expect(Handlers).toBeDefined();
  });

  it('a method of another payload, name, shape or result does not compile', () => {
    class Handlers {
      // @ts-expect-error -- the payload of another name
      @OnDelay('test.a')
      otherName(_delay: Delay<'test.b'>): void {}

      // @ts-expect-error -- a payload that asks for more than is declared
      @OnDelay('test.a')
      otherPayload(_delay: { payload: { n: number; more: string } }): void {}

      // @ts-expect-error -- the payload instead of the delay
      @OnDelay('test.a')
      payloadOnly(_payload: { n: number }): void {}

      // @ts-expect-error -- a third argument that nobody gives
      @OnDelay('test.a')
      third(_delay: Delay<'test.a'>, _ctx: DelayContext, _more: string): void {}

      // @ts-expect-error -- a result that nobody takes
      @OnDelay('test.a')
      result(_delay: Delay<'test.a'>): number {
        return 1;
      }

      // @ts-expect-error -- a name that is not declared
      @OnDelay('nobody.declared.this')
      unknownName(): void {}

      // @ts-expect-error -- an option that does not exist
      @OnDelay('test.a', { retries: 3 })
      unknownOption(): void {}
    }
    expect(Handlers).toBeDefined();
  });
});

describe('types of @RepeatDelay', () => {
  it('has one interval, and the payload where one is declared', () => {
    class Handlers {
      @RepeatDelay('test.a', { every: '1h', payload: { n: 1 } })
      @RepeatDelay('test.a', { cron: '0 3 * * *', timeZone: 'UTC', key: 'k', payload: { n: 2 } })
      @OnDelay('test.a')
      right(_delay: Delay<'test.a'>): void {}

      // @ts-expect-error -- no payload
      @RepeatDelay('test.a', { every: '1h' })
      noPayload(): void {}

      // @ts-expect-error -- the payload of another name
      @RepeatDelay('test.a', { every: '1h', payload: { text: '' } })
      otherPayload(): void {}

      // @ts-expect-error -- a name that is not declared
      @RepeatDelay('nobody.declared.this', { every: '1h' })
      unknownName(): void {}
    }
    const right: RepeatDelayOptions<'test.a'> = {
      every: 1_000,
      catchUp: 'each',
      payload: { n: 1 },
    };
    // @ts-expect-error -- two intervals
    const twice: RepeatDelayOptions<'test.a'> = { every: 1, cron: '', payload: { n: 1 } };
    expect([Handlers, right, twice]).toHaveLength(3);
  });
});

describe('types of @OnDeadDelay', () => {
  it('gets the delay, the transaction and why', () => {
    class Handlers {
      @OnDeadDelay('test.a')
      right(delay: Delay<'test.a'>, { manager, error, cause }: DeadDelayContext): Promise<void> {
        return manager.query(error, [delay.payload.n, cause]);
      }

      // @ts-expect-error -- the payload of another name
      @OnDeadDelay('test.a')
      otherName(_delay: Delay<'test.b'>): void {}

      // @ts-expect-error -- a name that is not declared
      @OnDeadDelay('nobody.declared.this')
      unknownName(): void {}

      // @ts-expect-error -- it has no options
      @OnDeadDelay('test.a', { transactional: true })
      options(): void {}
    }
    // @ts-expect-error -- without its transaction
    const context: DeadDelayContext = { signal: new AbortController().signal, error: '', cause: 1 };
    expect([Handlers, context]).toHaveLength(2);
  });
});

describe('types of handlers and their options', () => {
  it('name what a method has to look like', () => {
    const plain: PlainHandler<'test.a'> = ({ payload }, { signal }) =>
      signal.throwIfAborted() ?? void payload.n;
    const fenced: TransactionalHandler<'test.a'> = async (_delay, ctx) =>
      await ctx.manager.query('');
    const batch: BatchHandler<'test.a'> = (delays, ctx) => {
      for (const delay of delays) ctx.postpone(delay, '1s');
    };
    const fencedBatch: TransactionalBatchHandler<'test.a'> = async (_delays, ctx) =>
      await ctx.manager.query('');
    const dead: DeadDelayHandler<'test.a'> = async (_delay, ctx) => await ctx.manager.query('');
    // @ts-expect-error -- a plain one has no transaction
    const plainWrong: PlainHandler<'test.a'> = (_delay, ctx) => void ctx.manager;
    // @ts-expect-error -- one delay, and not a list
    const fencedWrong: TransactionalHandler<'test.a'> = (delays: Delay<'test.a'>[]) => void delays;
    // @ts-expect-error -- a list, and not one delay
    const batchWrong: BatchHandler<'test.a'> = (delay: Delay<'test.a'>) => void delay;
    // @ts-expect-error -- the delays of another name
    const fencedBatchWrong: TransactionalBatchHandler<'test.a'> = (
      _delays: Delay<'test.b'>[],
    ) => {};
    // @ts-expect-error -- it answers nothing
    const deadWrong: DeadDelayHandler<'test.a'> = () => 1;
    const right = [plain, fenced, batch, fencedBatch, dead];
    expect([
      ...right,
      plainWrong,
      fencedWrong,
      batchWrong,
      fencedBatchWrong,
      deadWrong,
    ]).toHaveLength(10);
  });

  it('name what a method may be decorated with', () => {
    const right: DecoratorOf<PlainHandler<'test.a'>> = OnDelay('test.a');
    const wrong = (method: TypedPropertyDescriptor<() => number>) => {
      // @ts-expect-error -- a method that answers something
      const decorate: DecoratorOf<PlainHandler<'test.a'>> = () => right({}, 'a', method);
      return decorate;
    };
    expect([right, wrong]).toHaveLength(2);
  });

  it('are refused where they do not exist, or have another type', () => {
    const limits: LimitOptions = { concurrency: 5, rateLimit: { max: 10, per: '1s' } };
    const right: OnDelayOptions = { global: limits, perGroup: limits, maxAttempts: 3 };
    const rightBatch: OnDelayBatchOptions = { ...right, batch: 5, transactional: true };
    // @ts-expect-error -- within what time?
    const limitsWrong: LimitOptions = { rateLimit: { max: 10 } };
    // @ts-expect-error -- no list
    const wrong: OnDelayOptions = { batch: 5 };
    // @ts-expect-error -- how many?
    const wrongBatch: OnDelayBatchOptions = { transactional: true };
    // @ts-expect-error -- a function of the attempt
    const backoff: OnDelayOptions = { backoff: (attempt: string) => attempt };
    expect([right, rightBatch, limitsWrong, wrong, wrongBatch, backoff]).toHaveLength(6);
  });

  it('know what their context says', () => {
    const signal = new AbortController().signal;
    // @ts-expect-error -- a signal, not its controller
    const plain: DelayContext = { signal: new AbortController() };
    // @ts-expect-error -- no manager
    const fenced: TransactionalDelayContext = { signal };
    // @ts-expect-error -- nothing to say of one
    const batch: DelayBatchContext = { signal };
    // @ts-expect-error -- no manager
    const both: TransactionalDelayBatchContext = { signal, fail: () => {}, postpone: () => {} };
    expect([plain, fenced, batch, both]).toHaveLength(4);
  });
});
