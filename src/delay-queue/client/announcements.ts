import type { EntityManager } from 'typeorm';
import type { Placed, Wake } from '../store/rows/delay-rows.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';

/** The engine, which is notified of committed writes. */
export interface CommittedWrites {
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

/** A committed write, as a trace reports it. */
export interface CommittedWrite {
  id: number;
  name: string;
  key: string | null;
  /** The verdict that the caller got. */
  verdict: string;
  /** Null when the delay no longer waits. */
  wakeMs: number | null;
  /** As in {@link CommittedWrites}. */
  certain: boolean;
}

/** Traces the writes of selected delays. */
export interface WritesTrace {
  readonly isOn: boolean;
  follows(name: string, key: string | null): boolean;
  committed(write: CommittedWrite): void;
}

type Target = Pick<CommittedWrite, 'name' | 'key'> & { group?: string | null };

/** Notifies the engine and the trace of writes once their transaction has committed. */
export class Announcements {
  constructor(
    private readonly afterCommit: AfterCommit,
    private readonly heard: CommittedWrites,
    private readonly trace: WritesTrace | undefined,
  ) {}

  /**
   * @param failed the delay keeps its `last_error`, and so runs alone
   * @param answeredAtMs `performance.now()` at the answer; default: now
   */
  written(
    manager: EntityManager | undefined,
    target: Target,
    { verdict, id, epoch, wakeMs, nowMs, group = target.group ?? null }: Placed,
    { failed = false, answeredAtMs = performance.now() }: WrittenOptions = {},
  ): void {
    if (epoch === null || wakeMs === null) return;
    const wake = { id, epoch, name: target.name, group, wakeMs, stalled: false, failed };
    const written = { databaseMs: nowMs, monotonicMs: answeredAtMs };
    this.afterCommit.onCommit(manager, (certain) => this.heard.announce(wake, written, certain));
    this.#follow(manager, target, { id, verdict, wakeMs });
  }

  cancelled(manager: EntityManager | undefined, target: Target, id: number): void {
    this.afterCommit.onCommit(manager, (certain) => {
      // Otherwise the cancel may have been undone and the row may still exist: its wake stays.
      if (certain) this.heard.disarm(id);
    });
    this.#follow(manager, target, { id, verdict: 'cancelled', wakeMs: null });
  }

  rerun(manager: EntityManager | undefined, target: Target, id: number): void {
    this.afterCommit.onCommit(manager, () => this.heard.rerunAsked());
    this.#follow(manager, target, { id, verdict: 'rerun', wakeMs: null });
  }

  #follow(
    manager: EntityManager | undefined,
    { name, key }: Target,
    write: Pick<CommittedWrite, 'id' | 'verdict' | 'wakeMs'>,
  ): void {
    const { trace } = this;
    if (!trace?.isOn || !trace.follows(name, key)) return;
    this.afterCommit.onCommit(manager, (certain) =>
      trace.committed({ name, key, ...write, certain }),
    );
  }
}

interface WrittenOptions {
  failed?: boolean;
  answeredAtMs?: number | undefined;
}
