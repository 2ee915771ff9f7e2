import type { DelayEvents } from '../api/events.js';
import { LOADS_MISSED_MAX } from '../store/sql/fragments/clock.js';
import type { NodeStore } from '../store/node.store.js';

/** Most names checked in the life of a process: made-up names beyond that cause no more advice. */
const NAMES_MAX = 1_000;

/**
 * Advises, once per name, that delays of it were written here and no live node serves it: the name
 * is misspelled, or its service was never deployed. Checks once: at the first write of a name that
 * looks like a known one, for others a while later, because in a deployment the node that serves
 * the name may start later. Skips names that this node serves.
 */
export class UnservedNames {
  readonly #own: ReadonlySet<string>;
  readonly #asked = new Set<string>();
  readonly #toAsk: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #asking = Promise.resolve();
  #isOver = false;
  readonly #aliveMs: number;

  /**
   * @param own names that this node serves
   * @param meant the name of a handler of this application that is spelled almost like this one
   */
  constructor(
    private readonly store: Pick<NodeStore, 'unserved'>,
    own: readonly string[],
    private readonly meant: (name: string) => string | undefined,
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
    if (this.meant(name) !== undefined) return this.#ask([name]);
    this.#toAsk.push(name);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#ask(this.#toAsk.splice(0));
    }, this.#aliveMs).unref();
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#asking;
  }

  #ask(names: readonly string[]): void {
    this.#asking = this.#asking.then(() => this.#advise(names));
  }

  async #advise(names: readonly string[]): Promise<void> {
    if (this.#isOver) return;
    try {
      for (const name of await this.store.unserved(names, this.#aliveMs)) {
        const meant = this.meant(name);
        this.events.emit('advice', {
          message:
            `no live node has a handler of ${name}, and delays of that name were scheduled here: ` +
            `they wait until a node with such a handler starts${meant ? `. Did you mean ${meant}?` : ''}`,
        });
      }
    } catch {
      // Only advice, and database errors are reported elsewhere: the next write checks again.
      for (const name of names) this.#asked.delete(name);
    }
  }
}
