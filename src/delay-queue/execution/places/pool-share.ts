import { DelayConfigError } from '../../delay/delay.errors.js';
import type { DelayEvents } from '../../delay/delay.events.js';
import type { HandlerRegistry } from '../../handlers/handler.registry.js';

/**
 * How many connections of the application's pool its transactional handlers may hold together, one each. A fifth
 * of the pool, one at least, stays with the application: a handler that wants a second one must be able to get it. One
 * more is for `@OnDeadDelay`, if there is any.
 *
 * @param poolMax connections of the pool
 * @param concurrency of a handler that says nothing of it
 * @throws DelayConfigError when the pool is too small for its handlers
 */
export function handlersShareOf(
  poolMax: number,
  registry: HandlerRegistry,
  concurrency: number,
  events: DelayEvents,
): number {
  const handlers = registry.all().filter((handler) => handler.transactional);
  const dyingMax = registry.all().some(({ onDead }) => onDead !== undefined) ? 1 : 0;
  const needed = dyingMax + (handlers.length > 0 ? 1 : 0);
  if (needed > 0 && poolMax < needed + 1) {
    throw new DelayConfigError(
      `transactional handlers${dyingMax > 0 ? ' and @OnDeadDelay' : ''} need a pool of at least ` +
        `${needed + 1} connections (extra.max), not ${poolMax}`,
    );
  }
  const max = poolMax - Math.max(1, Math.ceil(poolMax / 5)) - dyingMax;
  for (const handler of handlers) {
    if (handler.concurrency > max && handler.concurrency !== concurrency) {
      events.emit('advice', {
        message:
          `${handler.place}: concurrency ${handler.concurrency} cannot be reached; the pool of ` +
          `${poolMax} leaves ${max} connections to transactional handlers (raise extra.max)`,
      });
    }
  }
  return max;
}
