import type { MoveTo } from '../config/durations.js';
import type { Runner } from '../database/runner.js';
import { dueAt } from './first-instants.js';
import type { DelayStore, OwnChange } from '../store/delay.store.js';
import type { NewDelay, Placed } from '../store/rows/delay-rows.js';
import type { LockWait } from '../store/sql/fragments/clock.js';
import { declaredInCode, extrasText } from '../store/write-answers.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';
import type { Joined } from '../transactions/transactions.js';
import {
  type ActingAttempt,
  actingCall,
  currentCall,
  type Joining,
} from '../transactions/handler-context.js';

/** A handler's writes about its own delay. Its attempt holds the row, which moves on in place. */
export class SelfReschedules {
  /** @param queue that the writes go to: in another, the same name, key and id are another delay */
  constructor(
    private readonly store: DelayStore,
    private readonly afterCommit: AfterCommit,
    private readonly queue: object,
  ) {}

  /** The attempts of the call that writes. */
  attempts(manager: Joining | undefined): readonly ActingAttempt[] {
    return actingCall(this.queue, manager)?.attempts ?? [];
  }

  /** The attempt of the calling handler, if it runs on that delay. */
  attempt(
    manager: Joining | undefined,
    { name, key }: { name: string; key: string | null },
  ): ActingAttempt | undefined {
    return actingCall(this.queue, manager)?.attemptOf(name, key);
  }

  /** What the calling handler runs, also where the call joins another transaction. */
  runningIds(manager: Joining | undefined): Set<number> {
    const current = currentCall();
    const its = current?.handler.queue === this.queue ? current.attempts : [];
    return new Set([...its, ...this.attempts(manager)].map(({ id }) => id));
  }

  /**
   * All or none. Rows that answer `running` because of the handler's own attempt move on in place.
   * They come after the others, and before the reruns, which only rows still running ask for. An
   * error rolls the transaction back, and the attempts hold their rows as before.
   */
  async scheduleAll(
    manager: Joined | undefined,
    runner: Runner,
    delays: readonly NewDelay[],
  ): Promise<Placed[]> {
    const own = delays.flatMap((delay, index) => {
      const attempt = this.attempt(manager, delay);
      return attempt === undefined ? [] : [{ index, attempt, delay: goneOn(attempt, delay) }];
    });
    const placed = await this.store.place(runner, delays);
    for (const { index, attempt, delay } of own) {
      if (placed[index]?.verdict !== 'running') continue;
      const moved = await this.schedule(attempt, manager, runner, delay);
      if (moved !== undefined) placed[index] = moved;
    }
    return await this.store.rerun(runner, delays, placed);
  }

  /**
   * Schedules the attempt's own row again. Undefined when the attempt no longer holds that row.
   * @param delay as {@link goneOn} returns it
   */
  schedule(
    own: ActingAttempt,
    manager: Joined | undefined,
    runner: Runner,
    delay: NewDelay,
  ): Promise<Placed | undefined> {
    const { payload, maxAttempts, to } = delay;
    const change = { verdict: 'scheduled', payload, maxAttempts, extras: extrasText(delay) };
    return this.#moveOn(own, manager, runner, to, change);
  }

  /** Moves the attempt's own row. Returns undefined when the attempt no longer holds it. */
  reschedule(
    own: ActingAttempt,
    manager: Joined | undefined,
    runner: Runner,
    to: MoveTo,
  ): Promise<Placed | undefined> {
    const change = { verdict: 'rescheduled', payload: null, maxAttempts: null, extras: null };
    return this.#moveOn(own, manager, runner, to, change);
  }

  async #moveOn<Verdict extends string>(
    own: ActingAttempt,
    manager: Joined | undefined,
    runner: Runner,
    to: MoveTo,
    change: OwnChange<Verdict>,
  ): Promise<Placed<Verdict> | undefined> {
    const moved = await this.store.moveOn(runner, own, to, change, lockWaitFor(own, runner));
    if (moved === undefined) return undefined;
    own.movedOn = true;
    this.afterCommit.onRollback(manager, () => {
      own.movedOn = false;
    });
    return moved;
  }
}

/**
 * A kept recurrence goes on to its next instant: counted from now, instants would drift.
 * @throws DelayInvalidError for `repeat` if the code declares the recurrence
 */
export function goneOn({ occurrence }: ActingAttempt, delay: NewDelay): NewDelay {
  const { repeat = null } = delay;
  if (occurrence === null || repeat === null) return delay;
  if (occurrence.isDeclared) throw declaredInCode();
  if (repeat.hasFirst || !occurrence.recursAs(repeat.how)) return delay;
  const { nextMs, more } = occurrence.goesOn('ran');
  // After its last run, it begins anew.
  const how = { ...repeat.how, ...(nextMs === undefined ? { ran: 0 } : more) };
  const to = nextMs === undefined ? delay.to : dueAt(nextMs);
  return { ...delay, to, repeat: { ...repeat, how } };
}

/**
 * How long a handler waits for its own row. Not at all if it may hold the row's lock itself, because
 * it moved the row in a transaction that is still open; nor in a transactional handler, which another
 * session's lock would keep from its end.
 */
function lockWaitFor(own: ActingAttempt, { transaction }: Runner): LockWait {
  if (own.handler.transactional || own.movedOn) return 'at once';
  return transaction === 'callers' ? 'waits' : 'a while';
}
