import { AsyncResource } from 'node:async_hooks';

const MADE = { requireManualDestroy: true };

const own = new AsyncResource('DelayQueue', MADE);

/** Runs work whose changes to the async context (`enterWith`) end with it. */
export const apart = <Result>(work: () => Result): Result =>
  new AsyncResource('DelayQueueWork', MADE).runInAsyncScope(work);

/**
 * Runs work of the engine in the async context in which this module was loaded. In that of the code
 * that happened to start or wake it, an agent adds each claim to that request or start, for ever.
 */
export const inOwnScope = <Result>(work: () => Result): Result =>
  own.runInAsyncScope<unknown, Result>(apart as never, undefined, work);

/** The method runs in that context. */
export function OwnScope(_: object, __: string, method: PropertyDescriptor): void {
  const real = method.value as (...given: unknown[]) => unknown;
  method.value = function inScope(this: object, ...given: unknown[]) {
    return inOwnScope(() => real.apply(this, given));
  };
}
