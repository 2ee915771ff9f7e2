import type { Happening } from '../shop/feed/feed.js';

const REMEMBERED_MAX = 2_000;
/** How long after the instants that it wrote down a transaction may commit. */
const COMMITS_WITHIN_MS = 5_000;

/**
 * Passes each piece of news on once: a process that takes over from a dead reporter repeats some.
 */
export class OnceEach {
  #told = new Set<string>();
  #latest = '';

  constructor(private readonly pass: (news: Happening) => void) {}

  /** Where a new reporter has to begin; `undefined`: nothing was reported so far. */
  get since(): string | undefined {
    if (this.#latest === '') return undefined;
    return new Date(Date.parse(this.#latest) - COMMITS_WITHIN_MS).toISOString();
  }

  tell(happenings: readonly Happening[]): void {
    for (const news of happenings) {
      if (this.#told.has(news.id)) continue;
      this.#told.add(news.id);
      if (news.at > this.#latest) this.#latest = news.at;
      this.pass(news);
    }
    if (this.#told.size > REMEMBERED_MAX) {
      this.#told = new Set([...this.#told].slice(-REMEMBERED_MAX / 2));
    }
  }
}
