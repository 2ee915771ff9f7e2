import type { EntityManager } from 'typeorm';
import type { Placed, Wake } from '../store/rows/delay-rows.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';

/** The engine, which hears of committed writes. */
export interface CommittedWrites {
  /**
   * A delay was written.
   *
   * @param written when: on the database's clock, as `wakeMs` is, and by `performance.now()`
   * @param certain whether the write surely stands: a savepoint may have taken it back
   */
  announce(
    wake: Wake,
    written: { databaseMs: number; monotonicMs: number },
    certain: boolean,
  ): void;
  /** The row of that id is gone. */
  disarm(id: number): void;
  /** Names or groups are paused, or go on. */
  pausesChanged(): void;
  /** A key that runs is to run once more. */
  rerunAsked(): void;
}

/** A write that has been committed, as a trace tells of it. */
export interface CommittedWrite {
  id: number;
  name: string;
  key: string | null;
  /** What the caller was answered. */
  verdict: string;
  /** Null when nothing waits any more. */
  wakeMs: number | null;
  /** As in {@link CommittedWrites}. */
  certain: boolean;
}

/** Who follows the life of chosen delays. */
export interface WritesTrace {
  /** Whether there are any. */
  readonly isOn: boolean;
  follows(name: string, key: string | null): boolean;
  committed(write: CommittedWrite): void;
}

type Target = Pick<CommittedWrite, 'name' | 'key'> & { group?: string | null };

/** Tells of writes when their transaction is committed. */
export class Announcements {
  constructor(
    private readonly afterCommit: AfterCommit,
    private readonly heard: CommittedWrites,
    private readonly trace: WritesTrace | undefined,
  ) {}

  /**
   * @param failed the delay keeps its `last_error`, and so runs alone
   * @param answeredAtMs `performance.now()` when the answer was there; now, if left out
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
      // If the cancel may have been taken back, the row may still stand: the engine goes on to look at it.
      if (certain) this.heard.disarm(id);
    });
    this.#follow(manager, target, { id, verdict: 'cancelled', wakeMs: null });
  }

  /** A key that runs is to run once more. */
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
