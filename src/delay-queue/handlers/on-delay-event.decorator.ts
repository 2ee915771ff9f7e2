import type { DelayEventMap } from '../delay/delay.events.js';
import { type DecoratorOf, entriesAt, leaveAt } from './decorated-method.js';

const ON_DELAY_EVENT_METADATA = 'nestjs-delay-queue:on-delay-event';

/** A method that hears of an event. */
export type EventMethod<K extends keyof DelayEventMap> = (
  ...args: DelayEventMap[K]
) => Promise<void> | void;

/**
 * Makes a method of a provider or controller hear of what happens on this node; a method may carry several events.
 *
 * ```ts
 * @OnDelayEvent('dead')
 * page({ name, key, error }: DelayEventMap['dead'][0]): Promise<void> {
 *   return this.pager.send(`${name} ${key}: ${error}`);
 * }
 * ```
 *
 * It is not awaited. What it throws is logged, and changes nothing. Not on request-scoped providers, which have no
 * instance when an event comes.
 */
export function OnDelayEvent<K extends keyof DelayEventMap>(event: K): DecoratorOf<EventMethod<K>> {
  return (...at: unknown[]) => leaveAt(at, '@OnDelayEvent', ON_DELAY_EVENT_METADATA, event);
}

/** The events of a method; inherited ones count. */
export function eventsOf(prototype: object, methodName: string): (keyof DelayEventMap)[] {
  return entriesAt(ON_DELAY_EVENT_METADATA, prototype, methodName);
}
