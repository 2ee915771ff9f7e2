import type { HandlerRegistry } from '../handlers/handler.registry.js';
import type { Entry } from './read-ahead.js';
import type { Slots } from './slots.js';

/** Puts together what one claim asks for: which entries travel in which call, one slot per call. */
export class Booking {
  readonly calls: Entry[][] = [];
  /** Calls of batch handlers that have room, by name. */
  readonly #open = new Map<string, Entry[]>();

  constructor(
    private readonly slots: Slots,
    private readonly registry: HandlerRegistry,
  ) {}

  /** Books a seat for an entry, if its name has a slot or a batch with room. */
  seat(entry: Entry): boolean {
    const open = this.#open.get(entry.name);
    if (open !== undefined && !entry.failed) {
      open.push(entry);
      if (open.length === this.#batchOf(entry)) this.#open.delete(entry.name);
      return true;
    }
    if (!this.slots.take(entry.name)) return false;
    const call = [entry];
    this.calls.push(call);
    if (this.#batchOf(entry) > 1 && !entry.failed) this.#open.set(entry.name, call);
    return true;
  }

  #batchOf({ name }: Entry): number {
    return this.registry.get(name)?.batch ?? 1;
  }
}
