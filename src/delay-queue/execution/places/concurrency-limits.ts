import type { DelayEvents } from '../../delay/delay.events.js';
import type { HandlerLimits } from '../../handlers/limits.js';
import type { HandlerRegistry } from '../../handlers/handler.registry.js';
import { Signal } from '../../tasks/signal.js';

/** Handlers of one name that outlived their timeout and still run, at most, before it rests. */
const LINGERING_MAX = 1_000;

/** A name that rested is worth another word only after it was well again: it may rest with every timeout. */
const WELL_AGAIN = LINGERING_MAX / 2;

/** What one wheel can hold: a process with so many handlers in flight has run out of memory before. */
const IN_ALL_MAX = 2 ** 24;

/**
 * How many calls may run: a number per name, and one for all transactional handlers together, because each
 * of them holds a connection of the application's pool.
 */
export class ConcurrencyLimits {
  /** A name that was paused may begin another call. */
  readonly vacant = new Signal();
  readonly #taken = new Map<string, number>();
  readonly #lingering = new Map<string, number>();
  readonly #resting = new Set<string>();
  #transactional = 0;

  constructor(
    private readonly registry: HandlerRegistry,
    private readonly transactionalMax: number,
    private readonly events: DelayEvents,
  ) {}

  /** Of all names together: calls that may be in flight. */
  get inAll(): number {
    let inAll = 0;
    for (const { concurrency } of this.registry.all()) inAll += concurrency;
    return Math.min(IN_ALL_MAX, Math.max(1, inAll));
  }

  /** The limits of the name on all nodes together. */
  acrossNodes(name: string): HandlerLimits | null {
    return this.registry.get(name)?.limits ?? null;
  }

  /** Begins a call of that name, if it may. */
  acquire(name: string): boolean {
    const handler = this.registry.get(name);
    if (handler === undefined || this.lingering(name) >= LINGERING_MAX) return false;
    const taken = this.#taken.get(name) ?? 0;
    if (taken >= handler.concurrency) return false;
    if (handler.transactional) {
      if (this.#transactional >= this.transactionalMax) return false;
      this.#transactional += 1;
    }
    this.#taken.set(name, taken + 1);
    return true;
  }

  release(name: string): void {
    this.#taken.set(name, (this.#taken.get(name) ?? 0) - 1);
    if (this.registry.get(name)?.transactional) this.#transactional -= 1;
  }

  /** A handler still runs although its attempt is over. @returns how many of that name do */
  linger(name: string): number {
    const count = this.lingering(name) + 1;
    this.#lingering.set(name, count);
    if (count >= LINGERING_MAX && !this.#resting.has(name)) {
      this.#resting.add(name);
      this.events.emit('advice', { message: restOf(name, count) });
    }
    return count;
  }

  lingerNoMore(name: string): void {
    const count = this.lingering(name) - 1;
    this.#lingering.set(name, count);
    if (count <= WELL_AGAIN) this.#resting.delete(name);
    if (count === LINGERING_MAX - 1) this.vacant.tell();
  }

  lingering(name: string): number {
    return this.#lingering.get(name) ?? 0;
  }
}

const restOf = (name: string, lingering: number): string =>
  `${name} rests on this node: ${lingering} of its handlers outlived their timeout and still run; ` +
  'it goes on as they end (a handler should end when ctx.signal aborts)';
