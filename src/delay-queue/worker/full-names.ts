import type { TimerQueue } from './timer-queue.js';

/** Names and groups that are full during this scan: skipped until it ends. */
export class FullNames {
  readonly #names = new Set<string>();
  readonly #groups = new Map<string, Set<string>>();

  constructor(private readonly queue: Pick<TimerQueue, 'roomFor'>) {}

  /** As `TimerQueue.roomFor`, for the whole scan so far. */
  roomFor(name: string): { butNotOf: string[] } | undefined {
    const room = this.queue.roomFor(name);
    if (room === undefined) this.#names.add(name);
    if (room === undefined || this.#names.has(name)) return undefined;
    const groups = this.#groups.get(name) ?? new Set();
    for (const group of room.butNotOf) groups.add(group);
    this.#groups.set(name, groups);
    return { butNotOf: [...groups] };
  }
}
