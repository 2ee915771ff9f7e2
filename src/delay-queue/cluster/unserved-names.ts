import type { DelayEvents } from '../api/events.js';
import type { NodeStore } from '../store/node.store.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/presence.js';

/** Most names checked in the life of a process: made-up names beyond that cause no more advice. */
const NAMES_MAX = 1_000;

/**
 * Advises, once per name, that delays of it were written here and no live node serves it: the name
 * is misspelled, or its service was never deployed. Checks once, a while after the first write: in
 * a deployment, the node that serves the name may start later. Skips names that this node serves.
 */
export class UnservedNames {
  readonly #own: ReadonlySet<string>;
  readonly #asked = new Set<string>();
  #toAsk: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | undefined;
  #isOver = false;
  readonly #aliveMs: number;

  /** @param own names that this node serves */
  constructor(
    private readonly store: Pick<NodeStore, 'unserved'>,
    own: readonly string[],
    { loadEveryMs }: { loadEveryMs: number },
    private readonly events: DelayEvents,
  ) {
    this.#own = new Set(own);
    this.#aliveMs = loadEveryMs * LOADS_MISSED_MAX;
  }

  /** A delay of that name was committed. Mostly the name is known. */
  written(name: string): void {
    if (this.#own.has(name) || this.#asked.has(name)) return;
    if (this.#isOver || this.#asked.size >= NAMES_MAX) return;
    this.#asked.add(name);
    this.#toAsk.push(name);
    this.#timer ??= setTimeout(() => (this.#asking = this.#ask()), this.#aliveMs).unref();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#asking;
  }

  async #ask(): Promise<void> {
    const names = this.#toAsk;
    this.#toAsk = [];
    this.#timer = undefined;
    try {
      for (const name of await this.store.unserved(names, this.#aliveMs)) {
        this.events.emit('advice', {
          message:
            `no live node has a handler of ${name}, and delays of that name were scheduled here: ` +
            'they wait until a node with such a handler starts',
        });
      }
    } catch {
      // Only advice, and database errors are reported elsewhere: the next write checks again.
      for (const name of names) this.#asked.delete(name);
    }
  }
}
