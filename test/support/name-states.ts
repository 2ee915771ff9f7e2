import { DelayEvents } from '../../src/delay-queue/core/api/events.js';
import type {
  Handler,
  HandlerRegistry,
} from '../../src/delay-queue/core/handlers/handler.registry.js';
import { NameStates } from '../../src/delay-queue/core/worker/name-state.js';

const USUAL: Partial<Handler> = {
  transactional: false,
  concurrency: 10,
  limits: null,
  batch: null,
  leaseMs: 30_000,
  maxAttempts: 3,
};

/**
 * The states of names on a node whose transactional handlers have so many connections.
 * @param odd what is not usual about the handler of a name
 */
export function nameStates(
  odd: (name: string) => Partial<Handler> = () => ({}),
  connections = 5,
): NameStates {
  const get = (name: string) => ({ ...USUAL, name, ...odd(name) }) as Handler;
  const registry = { get, all: () => [] } as unknown as HandlerRegistry;
  return new NameStates(registry, connections, new DelayEvents(), () => {});
}
