import type { EntityManager } from 'typeorm';
import type { MoveTo } from '../config/durations.js';
import type { Runner } from '../database/runner.js';
import type { DelayStore, OwnChange } from '../store/delay.store.js';
import type { NewDelay, Placed } from '../store/rows/delay-rows.js';
import type { LockWait } from '../store/sql/fragments/clock.js';
import { declaredInCode, extrasText } from '../store/write-answers.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';
import { type ActingAttempt, actingCall } from '../transactions/handler-context.js';

/** The attempt of the calling handler, if it runs on that delay. */
export const ownAttempt = (
  manager: EntityManager | undefined,
  { name, key }: { name: string; key: string | null },
): ActingAttempt | undefined => actingCall(manager)?.attemptOf(name, key);

/** A handler's writes about its own delay. Its attempt holds the row, which moves on in place. */
export class SelfReschedules {
  constructor(
    private readonly store: DelayStore,
    private readonly afterCommit: AfterCommit,
  ) {}

  /**
   * All or none. Rows that answer `running` because of the handler's own attempt move on in place.
   * They come after the others, and before the reruns, which only rows still running ask for. An
   * error rolls the transaction back, and the attempts hold their rows as before.
   * @param manager of the transaction
   * @throws DelayInvalidError as `schedule`; nothing was written then
   */
  async scheduleAll(
    manager: EntityManager | undefined,
    runner: Runner,
    delays: readonly NewDelay[],
  ): Promise<Placed[]> {
    const own = delays.flatMap((delay, index) => {
      const attempt = ownAttempt(manager, delay);
      return attempt === undefined ? [] : [{ index, attempt, delay, to: whereTo(attempt, delay) }];
    });
    const placed = await this.store.place(runner, delays);
    for (const { index, attempt, delay, to } of own) {
      if (placed[index]?.verdict !== 'running') continue;
      const moved = await this.#schedule(attempt, manager, runner, delay, to);
      if (moved !== undefined) placed[index] = moved;
    }
    return await this.store.rerun(runner, delays, placed);
  }

  /**
   * Schedules the attempt's own row again. Undefined when the attempt no longer holds that row.
   * @throws DelayInvalidError for `repeat` if the code declares the recurrence
   */
  schedule(
    own: ActingAttempt,
    manager: EntityManager | undefined,
    runner: Runner,
    delay: NewDelay,
  ): Promise<Placed | undefined> {
    return this.#schedule(own, manager, runner, delay, whereTo(own, delay));
  }

  /** Moves the attempt's own row. Returns undefined when the attempt no longer holds it. */
  reschedule(
    own: ActingAttempt,
    manager: EntityManager | undefined,
    runner: Runner,
    to: MoveTo,
  ): Promise<Placed | undefined> {
    const change = { verdict: 'rescheduled', payload: null, maxAttempts: null, extras: null };
    return this.#moveOn(own, manager, runner, to, change);
  }

  #schedule(
    own: ActingAttempt,
    manager: EntityManager | undefined,
    runner: Runner,
    delay: NewDelay,
    to: MoveTo,
  ): Promise<Placed | undefined> {
    const { payload, maxAttempts } = delay;
    const change = { verdict: 'scheduled', payload, maxAttempts, extras: extrasText(delay) };
    return this.#moveOn(own, manager, runner, to, change);
  }

  async #moveOn<Verdict extends string>(
    own: ActingAttempt,
    manager: EntityManager | undefined,
    runner: Runner,
    to: MoveTo,
    change: OwnChange<Verdict>,
  ): Promise<Placed<Verdict> | undefined> {
    const moved = await this.store.moveOn(runner, own, to, change, lockWaitOf(own, runner));
    if (moved === undefined) return undefined;
    own.movedOn = true;
    this.afterCommit.onRollback(manager, () => {
      own.movedOn = false;
    });
    return moved;
  }
}

/** A kept recurrence goes on to its next instant: counted from now, instants would drift. */
function whereTo({ occurrence }: ActingAttempt, { to, repeat = null }: NewDelay): MoveTo {
  if (occurrence === null || repeat === null) return to;
  if (occurrence.isDeclared) throw declaredInCode();
  if (repeat.hasFirst || !occurrence.recursAs(repeat.how)) return to;
  return { kind: 'at', iso: new Date(occurrence.nextMs).toISOString() };
}

/**
 * How long a handler waits for its own row. Not at all if it may hold the row's lock itself: by its
 * transaction's fence, or because it moved the row in a transaction that is still open.
 */
function lockWaitOf(own: ActingAttempt, { transaction }: Runner): LockWait {
  if (own.handler.transactional || own.movedOn) return 'at once';
  return transaction === 'callers' ? 'waits' : 'a while';
}
