import type { DeadDelayContext } from '../delay/contexts.js';
import type { Delay, DelayName } from '../delay/delay.js';
import { type DecoratorOf, entriesAt, leaveAt } from './decorated-method.js';

const ON_DEAD_DELAY_METADATA = 'nestjs-delay-queue:on-dead-delay';

/** A method that runs when a delay becomes a dead letter. */
export type DeadDelayHandler<N extends DelayName> = (
  delay: Delay<N>,
  ctx: DeadDelayContext,
) => Promise<void> | void;

/**
 * Makes a method of a provider or controller run in the transaction in which a delay of that name becomes a dead letter:
 * what it writes through `ctx.manager` is committed together with that, once. A name has one, in an application
 * that has its `@OnDelay`, too; a method may carry several names.
 *
 * ```ts
 * @OnDeadDelay('invoice.print')
 * async gaveUp(delay: Delay<'invoice.print'>, { manager, error }: DeadDelayContext): Promise<void> {
 *   await manager.insert(Task, { what: `print invoice ${delay.payload.id} by hand`, why: error });
 * }
 * ```
 *
 * When it throws, or outlives the `timeout` of the handler, nothing of it is written, and the delay is no dead letter
 * yet: the method is called again after a pause. To be told of dead letters without a transaction take
 * `@OnDelayEvent('dead')`.
 */
export function OnDeadDelay<N extends DelayName>(name: N): DecoratorOf<DeadDelayHandler<N>>;
export function OnDeadDelay(name: unknown): MethodDecorator {
  return (...at: unknown[]) => leaveAt(at, '@OnDeadDelay', ON_DEAD_DELAY_METADATA, name);
}

/** The names of a method's `@OnDeadDelay`; inherited ones count. */
export function deadNamesOf(prototype: object, methodName: string): unknown[] {
  return entriesAt(ON_DEAD_DELAY_METADATA, prototype, methodName);
}
