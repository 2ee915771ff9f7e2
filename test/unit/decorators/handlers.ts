/** What users write, compiled under their own settings: see `compiled.spec.ts` beside it. */
import { applyDecorators } from '@nestjs/common';
import {
  type DeadDelayContext,
  type Delay,
  type DelayBatchContext,
  type DelayContext,
  type DelayEventMap,
  OnDeadDelay,
  OnDelay,
  OnDelayEvent,
  RepeatDelay,
  type TransactionalDelayBatchContext,
  type TransactionalDelayContext,
} from 'nestjs-delay-queue';
import '../../support/delay-payloads.js';

const Closes = (): MethodDecorator =>
  applyDecorators(
    OnDelay('test.a', { transactional: true }),
    OnDelay('test.b'),
    OnDeadDelay('test.a'),
  );

export class Right {
  @OnDelay('test.a')
  plain(_delay: Delay<'test.a'>, _ctx: DelayContext): void {}

  @OnDelay('test.a')
  async noArguments(): Promise<void> {}

  @OnDelay('test.a')
  optional(_delay?: Delay<'test.a'>, _ctx?: DelayContext): void {}

  @OnDelay('test.a')
  anyOfThem(..._all: unknown[]): void {}

  @OnDelay('test.a')
  wider(_delay: Delay<'test.a' | 'test.b'>): void {}

  @OnDelay('test.a', { transactional: true })
  fenced(_delay: Delay<'test.a'>, { manager }: TransactionalDelayContext): Promise<void> {
    return manager.query('');
  }

  @OnDelay('test.a', { batch: 5, transactional: true })
  batch(_delays: Delay<'test.a'>[], _ctx: TransactionalDelayBatchContext): void {}

  @OnDelayEvent('dead')
  dead(_event: DelayEventMap['dead'][0]): void {}

  @OnDeadDelay('test.a')
  died(_delay: Delay<'test.a'>, _ctx: DeadDelayContext): void {}

  @RepeatDelay('test.a', { every: '1h', payload: { n: 1 } })
  @Closes()
  composed(_delay: Delay<'test.a'>, _ctx: TransactionalDelayContext): void {}
}

export class Wrong {
  // @ts-expect-error -- without `transactional: true` there is no manager
  @OnDelay('test.a')
  plain(_delay: Delay<'test.a'>, { manager }: TransactionalDelayContext): void {
    void manager;
  }

  // @ts-expect-error -- nor is there for whoever names it alone
  @OnDelay('test.a')
  named(_delay: Delay<'test.a'>, { manager }: { manager: unknown }): void {
    void manager;
  }

  // @ts-expect-error -- nor with `transactional: false`
  @OnDelay('test.a', { transactional: false })
  told(_delay: Delay<'test.a'>, _ctx: TransactionalDelayContext): void {}

  // @ts-expect-error -- nor for a batch
  @OnDelay('test.a', { batch: 5 })
  batch(_delays: Delay<'test.a'>[], _ctx: TransactionalDelayBatchContext): void {}

  // @ts-expect-error -- with `batch` it gets a list
  @OnDelay('test.a', { batch: 5 })
  single(_delay: Delay<'test.a'>): void {}

  // @ts-expect-error -- without it a single delay
  @OnDelay('test.a')
  list(_delays: Delay<'test.a'>[], _ctx: DelayBatchContext): void {}

  // @ts-expect-error -- the payload of another name
  @OnDelay('test.a')
  another(_delay: Delay<'test.b'>): void {}

  // @ts-expect-error -- it gets two arguments
  @OnDelay('test.a')
  third(_delay: Delay<'test.a'>, _ctx: DelayContext, _more: string): void {}

  // @ts-expect-error -- nobody runs a generator
  @OnDelay('test.a')
  async *generator(): AsyncGenerator<number> {}

  // @ts-expect-error -- a property is no method
  @OnDelay('test.a')
  property = (): void => {};

  // @ts-expect-error -- what a dead letter gets is no context of a batch
  @OnDeadDelay('test.a')
  died(_delay: Delay<'test.a'>, _ctx: DelayBatchContext): void {}

  // @ts-expect-error -- another event
  @OnDelayEvent('taskFailed')
  heard(_event: DelayEventMap['dead'][0]): void {}
}
