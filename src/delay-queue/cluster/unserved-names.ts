import type { DelayEvents } from '../api/events.js';
import type { NodeStore } from '../store/node.store.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/presence.js';

/** Names that are asked about in the life of a process: who makes up names gets no more advice. */
const NAMES_MAX = 1_000;

/**
 * Tells, once for each name, that delays of it were written here and that no live node serves it: it was spelt in
 * another way, or its service was never deployed. The table of nodes is asked a while after the first write of a name, for in
 * a deploy who serves it may come later; then never again. What this node serves itself is not asked about.
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
            'they wait until a node starts that has one',
        });
      }
    } catch {
      // It is advice only, and whatever else goes wrong with the database is told elsewhere: the next write asks.
      for (const name of names) this.#asked.delete(name);
    }
  }
}
