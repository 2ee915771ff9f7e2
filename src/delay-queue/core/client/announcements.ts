import type { EntityManager } from 'typeorm';
import type { DelayEvents } from '../api/events.js';
import type { Placed, Wake } from '../store/rows/delay-rows.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';

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
  /** The row with that id is gone. */
  disarm(id: number): void;
  pausesChanged(): void;
  /** A running key is to run once more. */
  rerunAsked(): void;
}

interface Written {
  name: string;
  key: string | null;
  group?: string | null;
}

const REMOVED = new Set(['cancelled', 'discarded']);

/** Announces writes to the engine, and as the event `written`, once their transaction has committed. */
export class Announcements {
  constructor(
    private readonly engine: CommittedWrites,
    private readonly events: DelayEvents,
  ) {}

  /**
   * @param placed as the statement answered; what wrote nothing is not announced
   * @param failed the delay keeps its `last_error`, and so runs alone
   * @param answeredAtMs `performance.now()` at the answer
   */
  announce(
    manager: EntityManager | undefined,
    delay: Written,
    placed: Placed,
    failed = false,
    answeredAtMs = performance.now(),
  ): void {
    const { engine } = this;
    const { verdict, id, epoch, wakeMs, nowMs, group = delay.group ?? null } = placed;
    if (REMOVED.has(verdict)) {
      engine.afterCommit.onCommit(manager, (certain) => {
        // Otherwise the cancel may have been undone and the row may still exist: its wake stays.
        if (certain) this.engine.disarm(id);
        this.#tell(delay, id, 'cancelled', null, certain);
      });
    } else if (verdict === 'rerun') {
      engine.afterCommit.onCommit(manager, (certain) => {
        this.engine.rerunAsked();
        this.#tell(delay, id, verdict, null, certain);
      });
    } else if (epoch !== null && wakeMs !== null) {
      const wake = { id, epoch, name: delay.name, group, wakeMs, stalled: false, failed };
      const written = { databaseMs: nowMs, monotonicMs: answeredAtMs };
      engine.afterCommit.onCommit(manager, (certain) => {
        this.engine.announce(wake, written, certain);
        this.#tell(delay, id, verdict, wakeMs, certain);
      });
    }
  }

  #tell(
    { name, key }: Written,
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
