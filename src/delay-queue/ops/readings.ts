import { type DelayEvents, describeError } from '../core/index.js';
import { LATE, within } from '../core/ops.js';
import type { BacklogRow } from './health.sql.js';
import type { HolderRow, RelationRow } from './checks/vacuum.sql.js';
import type { HealthStore, Vitals } from './health.store.js';

/** A statement of the engine ends within 15 s; a probe of a platform waits for less. */
const ANSWER_WITHIN_MS = 5_000;

/** Probes of many kinds may ask at once and often; the database is asked once in that time. */
const BACKLOG_KEPT_MS = 5_000;

/** What is older tells nothing of now. A scrape shows what the one before had fetched. */
const BACKLOG_TOLD_MS = 180_000;

/** Enough of a name to tell that it is late, behind a crowd of others. */
const READY_OF_EACH = 10;

/** Sizes and snapshots change slowly. */
const SERVER_KEPT_MS = 60_000;

/** A clock that jumped is a reason to look for so long. */
const JUMP_TOLD_MS = 300_000;

/** A failure that has not come again for so long is over, though nothing reported that it works. */
const FAILURE_TOLD_MS = 60_000;

interface Failure {
  task: string;
  sinceMs: number;
  lastMs: number;
  error: string;
}

/** What this node has noticed lately, on the monotonic clock. */
export class Noticed {
  readonly #failures = new Map<string, Failure>();
  /** What differs, in words, by time zone. */
  readonly zones = new Map<string, string>();
  #jump: { byMs: number; atMs: number } | undefined;

  constructor(events: DelayEvents) {
    events.on('taskFailed', ({ task, error }) => {
      const nowMs = performance.now();
      const sinceMs = this.#recent(task)?.sinceMs ?? nowMs;
      this.#failures.set(task, { task, sinceMs, lastMs: nowMs, error: describeError(error) });
    });
    events.on('taskRecovered', ({ task }) => void this.#failures.delete(task));
    events.on('advice', ({ message, zone }) => {
      if (zone !== undefined) this.zones.set(zone, message);
    });
    events.on('clockJumped', ({ byMs }) => {
      this.#jump = { byMs, atMs: performance.now() };
    });
  }

  /** The background tasks that fail. */
  failures(): (Omit<Failure, 'sinceMs' | 'lastMs'> & { forMs: number })[] {
    const nowMs = performance.now();
    return [...this.#failures.keys()]
      .map((task) => this.#recent(task))
      .filter((failure) => failure !== undefined)
      .map(({ task, sinceMs, error }) => ({ task, error, forMs: nowMs - sinceMs }));
  }

  get jump(): { byMs: number; agoMs: number } | undefined {
    if (this.#jump === undefined) return undefined;
    const agoMs = performance.now() - this.#jump.atMs;
    return agoMs < JUMP_TOLD_MS ? { byMs: this.#jump.byMs, agoMs } : undefined;
  }

  #recent(task: string): Failure | undefined {
    const failure = this.#failures.get(task);
    const isOver = failure !== undefined && performance.now() - failure.lastMs > FAILURE_TOLD_MS;
    return isOver ? undefined : failure;
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

/** A reading that all who ask share, until it is too old. */
export class Kept<Reading> {
  #reading: Promise<Reading> | undefined;
  #endsAtMs = -Infinity;
  /** Statements of the last look are unanswered, perhaps for longer than anyone waits. */
  #isOpen = false;
  #last: { reading: Reading; atMs: number } | undefined;
  /** Of the last look, if that failed. */
  #error: { error: unknown } | undefined;

  constructor(
    private readonly read: () => Promise<Reading>,
    private readonly keptMs: number,
  ) {}

  /** Also an error is kept: a database that is gone is not asked by each probe. */
  get now(): Promise<Reading> {
    const isKept = this.#isOpen || performance.now() < this.#endsAtMs;
    if (this.#reading !== undefined && isKept) return this.#reading;
    const reading = this.#answered();
    this.#endsAtMs = Infinity;
    const over = (failed?: { error: unknown }): void => {
      this.#error = failed;
      this.#endsAtMs = performance.now() + this.keptMs;
    };
    reading.then(
      () => over(),
      (error: unknown) => over({ error }),
    );
    this.#reading = reading;
    return reading;
  }

  /** Why the last look failed; undefined: it did not. */
  get failed(): { error: unknown } | undefined {
    return this.#error;
  }

  /** The last reading, however old. */
  get last(): { reading: Reading; ageMs: number } | undefined {
    const last = this.#last;
    return last && { reading: last.reading, ageMs: performance.now() - last.atMs };
  }

  async #answered(): Promise<Reading> {
    // Another look beside one that hangs would take one more connection from the engine.
    this.#isOpen = true;
    const reading = this.read().finally(() => {
      this.#isOpen = false;
    });
    const answer = await within(reading, ANSWER_WITHIN_MS, { ref: false });
    if (answer === LATE) throw new Error(`no answer within ${ANSWER_WITHIN_MS / 1_000} s`);
    this.#last = { reading: answer, atMs: performance.now() };
    return answer;
  }
}

/** If one fails, the other still holds a connection: the look is over when both are. */
async function both<One, Other>(one: Promise<One>, other: Promise<Other>): Promise<[One, Other]> {
  await Promise.allSettled([one, other]);
  return Promise.all([one, other]);
}

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
