import type { TimerQueue } from './timer-queue.js';

/** The pause after a skip-ahead is this many times its duration. */
const REST_FACTOR = 10;

/** The shortest pause after a skip-ahead. */
const REST_MS_MIN = 1_000;

/**
 * When to skip ahead: to fetch what lies behind a backlog, while a pass waits for room. First at
 * once, then as rarely as a pass comes, because each time may read the whole backlog. Sooner, after
 * a pause, when nearly all known entries wait for limits of their groups and some were taken since:
 * other groups could run meanwhile.
 *
 * With a thousand tenants of a hundred overdue delays each, limited to sixty a minute per tenant,
 * 1,025 delays a second run; without this, 141 (`npm run bench -- tenants`).
 */
export class SkipAhead {
  #endedAtMs = -Infinity;
  #tookMs = 0;
  /** The count of takes at its end. */
  #takes = 0;

  constructor(private readonly queue: Pick<TimerQueue, 'hasRoomBehind' | 'takes'>) {}

  /** In how many milliseconds it is due. @param everyMs pause between two passes */
  dueInMs(everyMs: number): number {
    const restMs = Math.max(REST_MS_MIN, this.#tookMs * REST_FACTOR);
    const isSoon = this.queue.hasRoomBehind && this.queue.takes > this.#takes;
    return this.#endedAtMs + (isSoon ? Math.min(restMs, everyMs) : everyMs) - performance.now();
  }

  async run(fetch: () => Promise<void>): Promise<void> {
    const beganAtMs = performance.now();
    await fetch();
    this.#endedAtMs = performance.now();
    this.#tookMs = this.#endedAtMs - beganAtMs;
    this.#takes = this.queue.takes;
  }
}

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
