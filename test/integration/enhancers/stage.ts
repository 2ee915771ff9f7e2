import { beforeEach } from '@jest/globals';
import {
  type ArgumentMetadata,
  type ArgumentsHost,
  type CallHandler,
  type ExecutionContext,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes,
} from '@nestjs/common';
import {
  type AroundFunction,
  type Delay,
  type DelayContext,
  type DelayEventMap,
  OnDeadDelay,
  OnDelay,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import type { Observable } from 'rxjs';
import { OneNode } from '../../support/one-node.js';

/** What a test puts at the handlers; `log` is what they have told. */
export class Its {
  log: string[] = [];
  around: AroundFunction = (_, next) => next();
  guard: (context: ExecutionContext) => boolean | Promise<boolean> | Observable<boolean> = () =>
    true;
  interceptor: (context: ExecutionContext, next: CallHandler) => Observable<unknown> = (_, next) =>
    next.handle();
  pipe: (payload: unknown, metadata: ArgumentMetadata) => unknown = (payload) => payload;
  filter: (error: Error, host: ArgumentsHost) => unknown = () => {};
  handle = (
    delay: Delay,
    _ctx: DelayContext & Partial<TransactionalDelayContext>,
  ): Promise<void> | void => {
    this.log.push(`handler ${delay.key}`);
  };
}

/** A node with handlers whose enhancers are those of the test. */
export function enhancedNode() {
  let its = new Its();
  beforeEach(() => {
    its = new Its();
  });

  /** What failed does not come again by itself. */
  const around: AroundFunction = (call, next) => its.around(call, next);
  const options = { timeout: '20s', backoff: { base: '1m' } } as const;

  @UseGuards({ canActivate: (context) => its.guard(context) })
  @UseInterceptors({ intercept: (context, next) => its.interceptor(context, next) })
  @UsePipes({ transform: (payload, metadata) => its.pipe(payload, metadata) })
  @UseFilters({ catch: (error: Error, host) => its.filter(error, host) })
  class Handlers {
    @OnDelay('test.bare', options)
    @OnDelay('test.plain', { ...options, around })
    plain(delay: Delay<'test.plain' | 'test.bare'>, ctx: DelayContext): Promise<void> | void {
      return its.handle(delay, ctx);
    }

    @OnDelay('test.fenced', { ...options, around, transactional: true })
    fenced(delay: Delay<'test.fenced'>, ctx: TransactionalDelayContext): Promise<void> | void {
      return its.handle(delay, ctx);
    }

    @OnDelay('test.short', { ...options, timeout: '50ms' })
    short(delay: Delay<'test.short'>, ctx: DelayContext): Promise<void> | void {
      return its.handle(delay, ctx);
    }

    @OnDelay('test.batch', { ...options, transactional: true, batch: 10 })
    batch(delays: Delay<'test.batch'>[]): void {
      its.log.push(...delays.map(({ payload }) => JSON.stringify(payload)));
    }

    @OnDelay('test.last', { ...options, maxAttempts: 1 })
    last(): void {}

    @OnDeadDelay('test.last')
    gaveUp({ key, payload }: Delay<'test.last'>): void {
      its.log.push(`dead ${key} ${JSON.stringify(payload)}`);
    }
  }

  const node = new OneNode({ providers: [Handlers], options: { enhancers: 'own' } });
  const schedule = (name: `test.${string}`, key = 'k', payload: string | null = null) =>
    node.delays.schedule(name, payload, { after: 0, key });
  return {
    node,
    schedule,
    get its() {
      return its;
    },
    /** Schedules it for now; resolves when its attempt has ended so. */
    async fire<End extends 'completed' | 'retrying' | 'dead'>(
      end: End,
      name: `test.${string}` = 'test.plain',
      ...more: [key?: string, payload?: string]
    ): Promise<DelayEventMap[End][0]> {
      const ended = node.next(end);
      await schedule(name, ...more);
      return ended;
    },
  };
}

/** The handler, to its end; for an interceptor that waits for it. */
export const handled = (next: CallHandler): Promise<void> =>
  new Promise((resolve, reject) => {
    next.handle().subscribe({ error: reject, complete: resolve });
  });
