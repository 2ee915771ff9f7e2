import type { HandlerRegistry } from '../handlers/handler.registry.js';

/** Handlers of one name that outlived their timeout and still run, at most, before it rests. */
const LINGERING_MAX = 1_000;

/** What one wheel can hold: a process with so many handlers in flight has run out of memory before. */
const IN_ALL_MAX = 2 ** 24;

/**
 * Who may run: a number of slots per name, and one number for all transactional handlers together,
 * because each of them holds a connection of the application's pool.
 */
export class Slots {
  readonly #taken = new Map<string, number>();
  readonly #lingering = new Map<string, number>();
  #transactional = 0;

  constructor(
    private readonly registry: HandlerRegistry,
    private readonly transactionalMax: number,
  ) {}

  /** Slots of all names together: calls that may be in flight. */
  get inAll(): number {
    let inAll = 0;
    for (const { concurrency } of this.registry.all()) inAll += concurrency;
    return Math.min(IN_ALL_MAX, Math.max(1, inAll));
  }

  /** Takes a slot of that name, if there is one. */
  take(name: string): boolean {
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

  give(name: string): void {
    this.#taken.set(name, (this.#taken.get(name) ?? 0) - 1);
    if (this.registry.get(name)?.transactional) this.#transactional -= 1;
  }

  /** A handler still runs although its attempt is over. @returns how many of that name do */
  linger(name: string): number {
    const count = this.lingering(name) + 1;
    this.#lingering.set(name, count);
    return count;
  }

  lingerNoMore(name: string): void {
    this.#lingering.set(name, this.lingering(name) - 1);
  }

  lingering(name: string): number {
    return this.#lingering.get(name) ?? 0;
  }
}
