import type { Handler } from '../handlers/handler.registry.js';
import { readOccurrence } from '../recurrence/occurrence.js';
import type { OnDeadRow } from '../store/rows/answers.js';
import type { LookedRow } from '../store/sql/attempts.sql.js';
import { lockedPauseMs, rest, retryPauseMs } from '../tasks/pauses.js';
import { TaskHealth } from '../tasks/task-health.js';
import { Condition, within } from '../tasks/signal.js';
import { Attempt, OnDead } from './attempt.js';
import { Call } from './call.js';
import type { Completer, ExhaustedEnd } from './completer.js';
import type { WorkerContext } from './context.js';
import { EXHAUSTED } from './dead-letters.js';
import type { Executor } from './executor.js';

/** Found rows that wait here; the scan finds the others again. */
const WAITING_MAX = 1_000;

export interface OnDeadParts extends Pick<WorkerContext, 'store' | 'registry' | 'jobs' | 'events'> {
  executor: Pick<Executor, 'run'>;
  completer: Pick<Completer, 'exhausted'>;
}

/** A delay whose `@OnDeadDelay` is to be called. */
interface ExhaustedDelay {
  id: number;
  epoch: number;
  /** Its `@OnDeadDelay`. */
  handler: Handler;
  /** Undefined: it was found without an attempt left, and this node holds no lease. */
  onDead: OnDead | undefined;
  /** How often its row could not be claimed. */
  tries: number;
  end: (end: ExhaustedEnd) => void;
}

/**
 * Claims exhausted delays for their `@OnDeadDelay`, and has each called. One after the other: one
 * connection is kept for that (`handlerConnections`).
 */
export class OnDeadCalls {
  readonly #waiting = new Map<number, ExhaustedDelay>();
  readonly #idle = new Condition();
  readonly #health: TaskHealth;
  #isBusy = false;
  /** Takes no more rows that were found; what ends here is still brought to its end. */
  #isShut = false;
  #isClosed = false;

  constructor(private readonly parts: OnDeadParts) {
    this.#health = new TaskHealth(parts.events, 'deadLetter');
  }

  /** Its last attempt failed here, and its lease is kept. Resolves when the row was claimed, or not. */
  add({ id, epoch, handler: of }: Attempt, onDead: OnDead): Promise<ExhaustedEnd> {
    const handler = of.onDead as Handler;
    return new Promise((end) => this.#add({ id, epoch, handler, onDead, tries: 0, end }));
  }

  /** Takes a row that was found without an attempt left. @returns false: its name has no method */
  take({ id, epoch, name }: LookedRow): boolean {
    const { registry, completer } = this.parts;
    const handler = registry.get(name)?.onDead;
    if (handler === undefined) return false;
    const hasRoom = this.#waiting.size < WAITING_MAX && !this.#isShut;
    if (hasRoom && !this.#waiting.has(id)) {
      completer.exhausted.add();
      const end = (): void => completer.exhausted.done();
      this.#add({ id, epoch, handler, onDead: undefined, tries: 0, end });
    }
    return true;
  }

  /** The node is ending: rows that were found are left to others. */
  shut(): void {
    this.#isShut = true;
    for (const [id, { onDead, end }] of this.#waiting) {
      if (onDead !== undefined) continue;
      this.#waiting.delete(id);
      end('left');
    }
  }

  /** Resolves when all are called, or after `withinMs`; what waits then is left to others. */
  async drain(withinMs: number): Promise<void> {
    if (this.#isBusy) await within(this.#idle.next, withinMs);
    this.#isClosed = true;
    for (const { end } of this.#waiting.values()) end('left');
    this.#waiting.clear();
  }

  #add(delay: ExhaustedDelay): void {
    if (this.#isClosed) return delay.end('left');
    // Of an earlier epoch: the row has moved on since.
    this.#waiting.get(delay.id)?.end('gone');
    this.#waiting.set(delay.id, delay);
    if (!this.#isBusy) void this.#callAll();
  }

  async #callAll(): Promise<void> {
    this.#isBusy = true;
    // Visits those that are added meanwhile, too.
    for (const [id, delay] of this.#waiting) {
      this.#waiting.delete(id);
      const row = await this.#claim(delay);
      if (row !== undefined) await this.#call(row, delay);
    }
    this.#isBusy = false;
    this.#idle.notify();
  }

  /** @returns undefined when it was not claimed, and is over or tried again later */
  async #claim(delay: ExhaustedDelay): Promise<LeasedRow | undefined> {
    const { id, epoch, handler, onDead } = delay;
    const { leaseMs, maxAttempts } = handler;
    const isHeld = onDead !== undefined;
    const leaseEndsAtMs = performance.now() + leaseMs;
    try {
      const row = await this.parts.store.claimExhausted(
        { id, epoch, leaseMs, maxAttempts },
        isHeld,
      );
      // The transaction of the last attempt may hold the row until its session has ended.
      const isLocked = row === undefined && isHeld && (await this.#isOurs(delay));
      this.#health.worked();
      if (row !== undefined) return { row, leaseEndsAtMs };
      if (isLocked) this.#later(delay, lockedPauseMs(delay.tries + 1));
      else delay.end('gone');
    } catch (error) {
      this.#health.failed(error);
      this.#later(delay, retryPauseMs(delay.tries + 1));
    }
    return undefined;
  }

  /** Resolves when the call gives its slot back. */
  #call(
    { row, leaseEndsAtMs }: LeasedRow,
    { handler, onDead, end }: ExhaustedDelay,
  ): Promise<void> {
    const clock = { readMs: row.now_ms, leastMs: () => row.now_ms };
    const kind = onDead ?? new OnDead(row.last_error ?? EXHAUSTED, undefined);
    const attempt = new Attempt(row, handler, leaseEndsAtMs, row.now_ms - row.due_ms, kind);
    attempt.occurrence = readOccurrence(attempt.extras.repeat, row.due_ms, clock);
    this.parts.jobs.adopt(attempt);
    return new Promise((release) => {
      this.parts.executor.run(new Call(handler, [attempt], { release: () => release() }));
      end('claimed');
    });
  }

  /** Whether it is still leased under the epoch of its last attempt. */
  async #isOurs({ id, epoch }: ExhaustedDelay): Promise<boolean> {
    const [row] = await this.parts.store.lookAt([id]);
    return row?.epoch === epoch && row.node === this.parts.store.nodeName;
  }

  /** The others come first. The scan finds a row again that is not held. */
  #later(delay: ExhaustedDelay, waitMs: number): void {
    if (delay.onDead === undefined) return delay.end('left');
    void rest(waitMs).then(() => this.#add({ ...delay, tries: delay.tries + 1 }));
  }
}

interface LeasedRow {
  row: OnDeadRow;
  leaseEndsAtMs: number;
}
