import type { EntityManager } from 'typeorm';
import type { AfterCommit } from './transaction/after-commit.js';
import { actingCall, type ActingAttempt } from './transaction/handler-context.js';
import type { DelayStore } from '../store/delay.store.js';
import type { Placed, Placement } from '../store/wire/delay-rows.js';
import type { Runner } from '../store/wire/runner.js';
import type { Patience } from '../store/sql/parts/lock-wait.js';
import type { MoveTo } from '../validation/when.js';

/** The attempt on whose behalf a call is made, if it runs on that very delay. */
export const ownAttempt = (
  manager: EntityManager | undefined,
  { name, key }: { name: string; key: string | null },
): ActingAttempt | undefined => actingCall(manager)?.attemptOf(name, key);

/** What handlers write about the rows that they run on: recurring work moves its row on in place. */
export class OwnRows {
  constructor(
    private readonly store: DelayStore,
    private readonly afterCommit: AfterCommit,
  ) {}

  /**
   * All or none. The handler's own rows move on in place instead of being in their own way: last, because
   * nothing takes that back, and only those that answer `running`, which is their own attempt.
   */
  async place(
    manager: EntityManager | undefined,
    runner: Runner,
    placements: readonly Placement[],
  ): Promise<Placed[]> {
    const placed = await this.store.place(runner, placements);
    for (const [index, placement] of placements.entries()) {
      const own = placed[index]?.verdict === 'running' ? ownAttempt(manager, placement) : undefined;
      const moved = own && (await this.placeOwn(own, manager, runner, placement));
      if (moved !== undefined) placed[index] = moved;
    }
    return placed;
  }

  /** The attempt's own row, scheduled again. */
  placeOwn(
    own: ActingAttempt,
    manager: EntityManager | undefined,
    runner: Runner,
    placement: Placement,
  ): Promise<Placed | undefined> {
    const change = { ...placement, verdict: 'scheduled' };
    return this.moveOn(own, manager, runner, placement.to, change);
  }

  /** Undefined when the row is no longer the attempt's: then it is a row like any other. */
  async moveOn<Verdict extends string>(
    own: ActingAttempt,
    manager: EntityManager | undefined,
    runner: Runner,
    to: MoveTo,
    change: { verdict: Verdict; payload: string | null; maxAttempts: number | null },
  ): Promise<Placed<Verdict> | undefined> {
    const moved = await this.store.moveOn(runner, own, to, change, patienceOf(own, runner));
    if (moved === undefined) return undefined;
    own.movedOn = true;
    this.afterCommit.onRollback(manager, () => {
      own.movedOn = false;
    });
    return moved;
  }
}

/** Not for its own fence, and not for a transaction of its own in which it moved on already. */
function patienceOf(own: ActingAttempt, { transaction }: Runner): Patience {
  if (own.handler.transactional || own.movedOn) return 'at once';
  return transaction === 'callers' ? 'waits' : 'a while';
}
