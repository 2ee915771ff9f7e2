import { expect, it } from '@jest/globals';
import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import {
  type AttemptClient,
  type DelayTransaction,
  type OwnTransactionDelayContext,
  type AroundFunction,
  type BackoffOptions,
  type DeadDelayContext,
  type DecoratorOf,
  type Delay,
  type DelayAround,
  type DelayBatchContext,
  type DelayBatchRequest,
  type DelayCall,
  delayCallOf,
  type DelayContext,
  type DelayEnhancers,
  type DelayMethod,
  type DelayRequest,
  type Duration,
  type FitOf,
  type LimitOptions,
  type Misfit,
  OnDeadDelay,
  OnDelay,
  type OnDelayBatchOptions,
  type OnDelayOptions,
  RepeatDelay,
  type RepeatDelayOptions,
  type TransactionalDelayBatchContext,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import type { EntityManager } from 'typeorm';
import { fits, same } from '../../support/same-type.js';
import '../../support/delay-payloads.js';

type A = Delay<'test.a'>;

const traced: AroundFunction = async ({ delays }, next) => {
  await next();
  return delays.length;
};
class Tenants {
  around(_call: DelayCall, next: () => Promise<void>): Promise<void> {
    return next();
  }
}

class Handlers {
  @OnDelay('test.a')
  whole({ payload }: A, ctx: DelayContext): void {
    fits<[number, AbortSignal]>([payload.n, ctx.signal]);
  }

  @OnDelay('test.b', { concurrency: 5, timeout: '10s', backoff: (attempt) => attempt * 1_000 })
  async noContext({ payload }: Delay<'test.b'>): Promise<void> {
    await Promise.resolve(payload.text.length);
  }

  @OnDelay('test.anything', { transactional: false, backoff: { base: '5s' } })
  nothing(): void {}

  @OnDelay('test.a')
  @OnDelay('test.b')
  both(_delay: Delay<'test.a' | 'test.b'>): void {}

  @OnDelay('test.a', { transactional: true, around: [traced, new Tenants()], enhancers: 'all' })
  fenced(_delay: A, { manager }: TransactionalDelayContext): void {
    fits<EntityManager>(manager);
  }

  @OnDelay('test.a', { transactional: true })
  needsNoManager(_delay: A, _ctx: DelayContext): void {}

  @OnDelay('test.a', { batch: 5, concurrency: 2, timeout: '10s', around: new Tenants() })
  batch(delays: A[], ctx: DelayBatchContext): void {
    for (const delay of delays) ctx.fail(delay, delay.payload.n.toFixed());
  }

  @OnDelay('test.a', { batch: 5, transactional: true, enhancers: false })
  async fencedBatch([first]: A[], ctx: TransactionalDelayBatchContext): Promise<void> {
    await ctx.manager.query('');
    if (first) ctx.postpone(first, '5m');
  }

  @OnDelay('test.a', { batch: 5, transactional: true })
  readsOnly(_delays: readonly A[], _ctx: DelayContext): void {}

  @RepeatDelay('test.a', { every: '1h', payload: { n: 1 } })
  @RepeatDelay('test.a', { cron: '0 3 * * *', timeZone: 'UTC', key: 'k', payload: { n: 2 } })
  repeated(_delay: A): void {}

  @OnDeadDelay('test.a')
  dead({ payload }: A, { manager, error, cause }: DeadDelayContext): Promise<void> {
    return manager.query(error, [payload.n, cause]);
  }
}

class Mistakes {
  // @ts-expect-error -- without `transactional: true` there is no manager
  @OnDelay('test.a')
  plain(_delay: A, _ctx: TransactionalDelayContext): void {}

  // @ts-expect-error -- nor with `transactional: false`
  @OnDelay('test.a', { transactional: false })
  plainToo(_delay: A, _ctx: TransactionalDelayContext): void {}

  // @ts-expect-error -- with `batch` it gets a list
  @OnDelay('test.a', { batch: 5 })
  single(_delay: A): void {}

  // @ts-expect-error -- in a transaction, too
  @OnDelay('test.a', { batch: 5, transactional: true })
  fencedSingle(_delay: A, _ctx: TransactionalDelayContext): void {}

  // @ts-expect-error -- without `batch` it gets a single delay
  @OnDelay('test.a')
  list(_delays: A[]): void {}

  // @ts-expect-error -- and nothing to say of one
  @OnDelay('test.a')
  says(_delay: A, _ctx: DelayBatchContext): void {}

  // @ts-expect-error -- without `transactional: true` there is no manager
  @OnDelay('test.a', { batch: 5 })
  plainBatch(_delays: A[], _ctx: TransactionalDelayBatchContext): void {}

  // @ts-expect-error -- the payload of another name
  @OnDelay('test.a', { batch: 5 })
  batchOfAnother(_delays: Delay<'test.b'>[]): void {}

  // @ts-expect-error -- a text is no number of delays
  @OnDelay('test.a', { batch: '5' })
  text(_delays: A[]): void {}

  // @ts-expect-error -- the payload of another name
  @OnDelay('test.a')
  ofAnother(_delay: Delay<'test.b'>): void {}

  // @ts-expect-error -- the payload instead of the delay
  @OnDelay('test.a')
  payloadOnly(_payload: { n: number }): void {}

  // @ts-expect-error -- a third argument that nobody gives
  @OnDelay('test.a')
  third(_delay: A, _ctx: DelayContext, _more: string): void {}

  // @ts-expect-error -- a result that nobody takes
  @OnDelay('test.a')
  result(): number {
    return 1;
  }

  // @ts-expect-error -- a name that is not declared
  @OnDelay('nobody.declared.this')
  unknownName(): void {}

  // @ts-expect-error -- an option that does not exist
  @OnDelay('test.a', { retries: 3 })
  unknownOption(): void {}

  // @ts-expect-error -- a class is no instance of it
  @OnDelay('test.a', { around: Tenants })
  ofClass(): void {}

  // @ts-expect-error -- whose?
  @OnDelay('test.a', { enhancers: true })
  enhanced(): void {}

  // @ts-expect-error -- no payload
  @RepeatDelay('test.a', { every: '1h' })
  noPayload(): void {}

  // @ts-expect-error -- the payload of another name
  @RepeatDelay('test.a', { every: '1h', payload: { text: '' } })
  otherPayload(): void {}

  // @ts-expect-error -- the payload of another name
  @OnDeadDelay('test.a')
  deadOfAnother(_delay: Delay<'test.b'>): void {}

  // @ts-expect-error -- it has no options
  @OnDeadDelay('test.a', { transactional: true })
  deadOptions(): void {}
}

function parts(context: ExecutionContext, host: ArgumentsHost) {
  type Plain = DelayMethod<[delay: A, ctx: DelayContext]>;
  same<Plain, (delay: A, ctx: DelayContext) => Promise<void> | void>(true);
  same<ReturnType<typeof OnDelay<'test.a'>>, DecoratorOf<Plain>>(true);
  type Dead = DelayMethod<[delay: A, ctx: DeadDelayContext]>;
  same<ReturnType<typeof OnDeadDelay<'test.a'>>, DecoratorOf<Dead>>(true);
  same<FitOf<(delay: A) => void, Plain>, unknown>(true);
  same<FitOf<(delay: string) => void, Plain>, Misfit<Plain>>(true);
  fits<Misfit<() => void>>({ 'this method cannot be called with what it would get': () => {} });
  // @ts-expect-error -- it says what the method would get
  fits<Misfit<() => void>>({});

  class Own {
    @OnDelay('test.a', { transactional: 'own' })
    async close(_: Delay<'test.a'>, ctx: OwnTransactionDelayContext): Promise<void> {
      same<typeof ctx.complete, (tx: DelayTransaction) => Promise<void>>(true);
      await ctx.complete({ query: async () => [] });
      // @ts-expect-error -- which transaction
      await ctx.complete();
    }
  }
  same<Exclude<keyof OwnTransactionDelayContext, keyof DelayContext>, 'complete'>(true);
  fits<object>(Own);

  type StopRepeating = (delay?: Delay) => void;
  same<DelayContext, { signal: AbortSignal; readonly stopRepeating: StopRepeating }>(true);
  same<TransactionalDelayContext['manager'], EntityManager>(true);
  same<DelayBatchContext['postpone'], (delay: Delay, after: Duration) => void>(true);
  type InTransaction = TransactionalDelayBatchContext;
  same<Exclude<keyof InTransaction, keyof DelayBatchContext>, 'manager' | 'client'>(true);
  same<TransactionalDelayContext['client'], AttemptClient>(true);
  same<
    Exclude<keyof DeadDelayContext, keyof DelayContext>,
    'manager' | 'client' | 'error' | 'cause'
  >(true);
  same<DelayRequest, { delay: Delay; ctx: DelayContext }>(true);
  same<DelayBatchRequest, { delays: Delay[]; ctx: DelayContext }>(true);

  same<DelayCall['manager'], EntityManager | undefined>(true);
  // There is always one, and the list is the handler's.
  same<DelayCall['delays'], readonly [Delay, ...Delay[]]>(true);
  fits<DelayCall | undefined>(delayCallOf(context) ?? delayCallOf(host));
  // @ts-expect-error -- of a request it is undefined
  void delayCallOf(context).name;
  same<DelayAround, AroundFunction | { around: AroundFunction }>(true);
  // @ts-expect-error -- it says when it has ended, by a promise
  fits<AroundFunction>((_call, next) => void next());
  same<DelayEnhancers, false | 'own' | 'all'>(true);

  same<LimitOptions['rateLimit'], { max: number; per: Duration } | undefined>(true);
  same<OnDelayOptions['global' | 'perGroup'], LimitOptions | undefined>(true);
  fits<OnDelayOptions['backoff']>({ base: '5s' } satisfies BackoffOptions);
  // @ts-expect-error -- a function of the attempt
  fits<OnDelayOptions>({ backoff: (attempt: string) => attempt });
  same<OnDelayBatchOptions['batch'], number>(true);
  fits<RepeatDelayOptions<'test.a'>>({ every: 1_000, catchUp: 'each', payload: { n: 1 } });
  // @ts-expect-error -- two intervals
  fits<RepeatDelayOptions<'test.a'>>({ every: 1, cron: '', payload: { n: 1 } });
}

it('what handlers are declared with, by `tsc`', () => {
  expect([Handlers, Mistakes, parts]).toBeDefined();
});
