import type { EntityManager } from 'typeorm';
import type { DelayEvents } from '../api/events.js';
import type { Runner } from '../database/runner.js';
import type { Placed, Wake } from '../store/rows/delay-rows.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';
import { ForeignTransaction } from '../transactions/foreign-transaction.js';
import type { Joined } from '../transactions/transactions.js';

const REMOVED = new Set(['cancelled', 'discarded']);

/**
 * Announces writes to the engine, and as the event `written`, once their transaction has committed.
 * The commit of another library's transaction is not seen: the server announces it, by a hint that
 * the transaction sends.
 */
export class Announcements {
  constructor(
    private readonly engine: CommittedWrites,
    private readonly events: DelayEvents,
  ) {}

  /** @returns what has to be awaited within the transaction, if anything */
  announce(joined: Joined | undefined, all: readonly Announced[]): Promise<void> | undefined {
    if (joined instanceof ForeignTransaction) {
      const written = all.flatMap(({ delay, placed, failed = false }) => {
        const wake = REMOVED.has(placed.verdict) ? undefined : toWake(delay, placed, failed);
        return wake === undefined ? [] : [{ wake, nowMs: placed.nowMs }];
      });
      return this.engine.hintInside(joined.runner(), written);
    }
    const answeredAtMs = performance.now();
    for (const one of all) this.#announce(joined, one, answeredAtMs);
    return undefined;
  }

  #announce(
    joined: EntityManager | undefined,
    { delay, placed, failed = false }: Announced,
    answeredAtMs: number,
  ): void {
    const { engine } = this;
    const { verdict, id, nowMs } = placed;
    const wake = toWake(delay, placed, failed);
    if (REMOVED.has(verdict)) {
      engine.afterCommit.onCommit(joined, (certain) => {
        // Otherwise the cancel may have been undone and the row may still exist: its wake stays.
        if (certain) this.engine.disarm(id);
        this.#tell(delay, id, 'cancelled', null, certain);
      });
    } else if (verdict === 'rerun') {
      engine.afterCommit.onCommit(joined, (certain) => {
        this.engine.rerunAsked();
        this.#tell(delay, id, verdict, null, certain);
      });
    } else if (wake !== undefined) {
      const written = { databaseMs: nowMs, monotonicMs: answeredAtMs };
      engine.afterCommit.onCommit(joined, (certain) => {
        this.engine.announce(wake, written, certain);
        this.#tell(delay, id, verdict, wake.wakeMs, certain);
      });
    }
  }

  #tell(
    { name, key }: WrittenDelay,
    id: number,
    verdict: string,
    wakeMs: number | null,
    certain: boolean,
  ): void {
    if (!this.events.isHeard('written')) return;
    const wakeAt = wakeMs === null ? null : new Date(wakeMs);
    this.events.emit('written', { id: String(id), name, key, verdict, wakeAt, certain });
  }
}

/** Undefined for what has written no wake. */
function toWake(
  delay: WrittenDelay,
  { id, epoch, wakeMs, group = delay.group ?? null }: Placed,
  failed: boolean,
): Wake | undefined {
  if (epoch === null || wakeMs === null) return undefined;
  return { id, epoch, name: delay.name, group, wakeMs, stalled: false, failed };
}

/** The engine, which is notified of committed writes. */
export interface CommittedWrites {
  readonly afterCommit: AfterCommit;
  /**
   * A delay was written.
   * @param written when, on the database's clock (as `wakeMs`) and by `performance.now()`
   * @param certain false if a rollback to a savepoint may have undone the write
   */
  announce(
    wake: Wake,
    written: { databaseMs: number; monotonicMs: number },
    certain: boolean,
  ): void;
  /**
   * Sends, in a transaction whose commit is not seen, the hints of delays that no load finds in time.
   * Never rejects: without a hint, a load finds them later.
   * @param written each with the time of its write, on the database's clock
   */
  hintInside(
    runner: Runner,
    written: readonly { wake: Wake; nowMs: number }[],
  ): Promise<void> | undefined;
  /** The row with that id is gone. */
  disarm(id: number): void;
  pausesChanged(): void;
  /** A running key is to run once more. */
  rerunAsked(): void;
}

interface WrittenDelay {
  name: string;
  key: string | null;
  group?: string | null;
}

export interface Announced {
  delay: WrittenDelay;
  /** As the statement answered; what wrote nothing is not announced. */
  placed: Placed;
  /** The delay keeps its `last_error`, and so runs alone. */
  failed?: boolean;
}
