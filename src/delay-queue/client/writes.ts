import type { EntityManager } from 'typeorm';
import type { MoveTo } from '../config/durations.js';
import type { Runner } from '../database/runner.js';
import type { DelayStore, OwnChange } from '../store/delay.store.js';
import type { Move, NewDelay, Placed, Wake } from '../store/rows/delay-rows.js';
import type { LockWait } from '../store/sql/fragments/clock.js';
import { declaredInCode, extrasText } from '../store/write-answers.js';
import type { CallersTransaction } from '../transactions/callers-transaction.js';
import type { AfterCommit } from '../transactions/commit-hooks.js';
import { type ActingAttempt, actingCall } from '../transactions/handler-context.js';
import type { NameAndKey } from './arguments.js';
import { withFirstInstants } from './first-instants.js';

/**
 * Writes about one delay that are not coalesced: those in a caller's transaction, and those of a
 * handler about its own delay. Calls about one key keep their order.
 */
export class SingleWrites {
  constructor(
    private readonly store: DelayStore,
    private readonly selfReschedules: SelfReschedules,
  ) {}

  /**
   * @param ready resolves when the payload is there
   * @throws DelayConflictError, DelayUnstableError
   */
  async schedule(
    delay: NewDelay,
    { manager, runner, inOrder }: CallersTransaction,
    own: ActingAttempt | undefined,
    ready: Promise<void> | undefined,
  ): Promise<Placed> {
    return await inOrder([delay], async () => {
      if (ready !== undefined) await ready;
      const timed = await withFirstInstants(this.store, runner, [delay]);
      const moved =
        own && (await this.selfReschedules.schedule(own, manager, runner, timed[0] as NewDelay));
      if (moved) return moved;
      const placed = await this.store.place(runner, timed);
      return (await this.store.rerun(runner, timed, placed))[0] as Placed;
    });
  }

  /** Answers `cancelled`, `running` or `absent`. */
  async cancel(
    target: NameAndKey,
    { runner, inOrder }: CallersTransaction,
    own: ActingAttempt | undefined,
    by: string | undefined,
  ): Promise<Placed> {
    return await inOrder([target], () => this.store.cancel(runner, target, own, by));
  }

  /** Answers `rescheduled`, `running` or `absent`. */
  async reschedule(
    move: Move & { by: string | undefined },
    { manager, runner, inOrder }: CallersTransaction,
    own: ActingAttempt | undefined,
  ): Promise<Placed> {
    return await inOrder([move], async () => {
      const moved = own && (await this.selfReschedules.reschedule(own, manager, runner, move.to));
      return moved ?? (await this.store.reschedule(runner, move, move.by));
    });
  }

  /** Returns the revived dead letter, if there was one. */
  async retryDead(
    target: NameAndKey,
    { runner, inOrder }: CallersTransaction,
    by: string | undefined,
  ): Promise<Placed | undefined> {
    return await inOrder([target], () => this.store.retryDead(runner, target, by));
  }
}

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
      return attempt === undefined ? [] : [{ index, attempt, delay: goneOn(attempt, delay) }];
    });
    const placed = await this.store.place(runner, delays);
    for (const { index, attempt, delay } of own) {
      if (placed[index]?.verdict !== 'running') continue;
      const moved = await this.#schedule(attempt, manager, runner, delay);
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
    return this.#schedule(own, manager, runner, goneOn(own, delay));
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
  ): Promise<Placed | undefined> {
    const { payload, maxAttempts, to } = delay;
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
function goneOn({ occurrence }: ActingAttempt, delay: NewDelay): NewDelay {
  const { repeat = null } = delay;
  if (occurrence === null || repeat === null) return delay;
  if (occurrence.isDeclared) throw declaredInCode();
  if (repeat.hasFirst || !occurrence.recursAs(repeat.how)) return delay;
  const { nextMs, more } = occurrence.goesOn('ran');
  // After its last run, it begins anew.
  const how = { ...repeat.how, ...(nextMs === undefined ? { ran: 0 } : more) };
  const to = nextMs === undefined ? delay.to : at(nextMs);
  return { ...delay, to, repeat: { ...repeat, how } };
}

const at = (ms: number): MoveTo => ({ kind: 'at', iso: new Date(ms).toISOString() });

/**
 * How long a handler waits for its own row. Not at all if it may hold the row's lock itself, because
 * it moved the row in a transaction that is still open; nor in a transactional handler, which another
 * session's lock would keep from its end.
 */
function lockWaitOf(own: ActingAttempt, { transaction }: Runner): LockWait {
  if (own.handler.transactional || own.movedOn) return 'at once';
  return transaction === 'callers' ? 'waits' : 'a while';
}

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

type AnnouncedTarget = Pick<CommittedWrite, 'name' | 'key'> & { group?: string | null };

/** Notifies the engine and the trace of writes once their transaction has committed. */
export class Announcements {
  readonly #trace: WritesTrace | undefined;

  constructor(
    private readonly afterCommit: AfterCommit,
    private readonly heard: CommittedWrites,
    trace: WritesTrace | undefined,
  ) {
    this.#trace = trace?.isOn ? trace : undefined;
  }

  /**
   * @param failed the delay keeps its `last_error`, and so runs alone
   * @param answeredAtMs `performance.now()` at the answer; default: now
   */
  written(
    manager: EntityManager | undefined,
    target: AnnouncedTarget,
    { verdict, id, epoch, wakeMs, nowMs, group = target.group ?? null }: Placed,
    { failed = false, answeredAtMs = performance.now() }: WrittenOptions = {},
  ): void {
    if (epoch === null || wakeMs === null) return;
    const wake = { id, epoch, name: target.name, group, wakeMs, stalled: false, failed };
    const written = { databaseMs: nowMs, monotonicMs: answeredAtMs };
    this.afterCommit.onCommit(manager, (certain) => this.heard.announce(wake, written, certain));
    this.#follow(manager, target, { id, verdict, wakeMs });
  }

  cancelled(manager: EntityManager | undefined, target: AnnouncedTarget, id: number): void {
    this.afterCommit.onCommit(manager, (certain) => {
      // Otherwise the cancel may have been undone and the row may still exist: its wake stays.
      if (certain) this.heard.disarm(id);
    });
    this.#follow(manager, target, { id, verdict: 'cancelled', wakeMs: null });
  }

  rerun(manager: EntityManager | undefined, target: AnnouncedTarget, id: number): void {
    this.afterCommit.onCommit(manager, () => this.heard.rerunAsked());
    this.#follow(manager, target, { id, verdict: 'rerun', wakeMs: null });
  }

  #follow(
    manager: EntityManager | undefined,
    { name, key }: AnnouncedTarget,
    write: Pick<CommittedWrite, 'id' | 'verdict' | 'wakeMs'>,
  ): void {
    const trace = this.#trace;
    if (trace === undefined || !trace.follows(name, key)) return;
    this.afterCommit.onCommit(manager, (certain) =>
      trace.committed({ name, key, ...write, certain }),
    );
  }
}

interface WrittenOptions {
  failed?: boolean;
  answeredAtMs?: number | undefined;
}

/** The caller's result of a write that found a row. */
export const answerOf = <Verdict extends string>(
  verdict: Verdict,
  { id, dueMs, rerunCancelled }: Placed,
): { verdict: Verdict; id: string; dueAt: Date; rerunCancelled?: true } => ({
  verdict,
  id: String(id),
  dueAt: new Date(dueMs),
  ...(rerunCancelled && verdict === 'running' && { rerunCancelled }),
});
