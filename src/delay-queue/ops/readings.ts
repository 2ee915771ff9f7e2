import type { BacklogRow } from './health.sql.js';
import type { HolderRow, RelationRow } from './checks/vacuum.sql.js';
import type { HealthStore, Vitals } from './health.store.js';
import { Kept } from './kept.js';

/** Probes of many kinds may ask at once and often; the database is asked once in that time. */
const BACKLOG_KEPT_MS = 5_000;

/** What is older tells nothing of now. A scrape shows what the one before had fetched. */
const BACKLOG_TOLD_MS = 180_000;

/** Enough of a name to tell that it is late, behind a crowd of others. */
const READY_OF_EACH = 10;

/** Sizes and snapshots change slowly. */
const SERVER_KEPT_MS = 60_000;

/** Asks the database, however many ask this node. */
export class Readings {
  readonly #backlog: Kept<Backlog>;
  readonly #server: Kept<ServerReadings>;

  /**
   * @param aliveMs how long a silent node still counts as alive
   * @param readyIds ids of some delays that wait here, up to so many of each name
   */
  constructor(store: HealthStore, aliveMs: number, readyIds: (most: number) => number[]) {
    this.#backlog = new Kept(async () => {
      const [vitals, names] = await both(
        store.vitals(aliveMs),
        store.backlog(aliveMs, readyIds(READY_OF_EACH)),
      );
      return { vitals, names };
    }, BACKLOG_KEPT_MS);
    this.#server = new Kept(async () => {
      const [holder, relations] = await both(store.holder(), store.relations());
      return { holder, relations };
    }, SERVER_KEPT_MS);
  }

  backlog(): Promise<Backlog> {
    return this.#backlog.now;
  }

  /** What it said last; undefined: nothing yet, nothing lately, or it does not answer now. */
  get lastBacklog(): { reading: Backlog; ageMs: number } | undefined {
    const { last, failed } = this.#backlog;
    return failed === undefined && last !== undefined && last.ageMs < BACKLOG_TOLD_MS
      ? last
      : undefined;
  }

  server(): Promise<ServerReadings> {
    return this.#server.now;
  }

  /** Has both fetched that are too old. */
  refresh(): void {
    for (const { now } of [this.#backlog, this.#server]) now.catch(() => {});
  }

  /** What they said last, without waiting, and whether the last look at the backlog failed. */
  get known(): {
    backlog: Backlog | undefined;
    server: ServerReadings | undefined;
    failed: { error: unknown } | undefined;
  } {
    const [backlog, server] = [this.lastBacklog?.reading, this.#server.last?.reading];
    return { backlog, server, failed: this.#backlog.failed };
  }
}

/** What the database says of the backlog. */
export interface Backlog {
  vitals: Vitals;
  names: BacklogRow[];
}

/** What it says of itself. */
export interface ServerReadings {
  holder: HolderRow | undefined;
  relations: RelationRow[];
}

/** If one fails, the other still holds a connection: the look is over when both are. */
async function both<One, Other>(one: Promise<One>, other: Promise<Other>): Promise<[One, Other]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}
