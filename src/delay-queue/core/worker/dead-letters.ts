import type { DelayHeaders } from '../api/delay.js';
import { type DelayEvents, withCause } from '../api/events.js';
import { type GoesOn, Recurrence, type StoredRepeat } from '../recurrence/recurrence.js';
import type { AttemptStore } from '../store/attempt.store.js';
import type { EndedOccurrence, LastClaim } from '../store/rows/attempt-rows.js';
import type { Wake } from '../store/rows/delay-rows.js';
import type { ExhaustedRow, LookedRow } from '../store/sql/attempts.sql.js';
import { recurredWake } from '../store/sql/recurrences.sql.js';
import { inParts, StatementSize } from '../store/statement-size.js';
import { TaskHealth } from '../tasks/task-health.js';
import { tellSkipped } from './attempt-reports.js';

/** The error of a delay whose last attempt left none. */
export const EXHAUSTED = 'attempts exhausted; the last worker stopped before it reported a result';

/** As many as a claim asks for. */
const ROWS_MAX = 1_000;

/** A row without an attempt left, and how many its handler allows. */
export interface ExhaustedClaim {
  row: LookedRow;
  maxAttempts: number;
}

/** What the event says; `error` is null if the row keeps none. */
type Reported = Omit<ExhaustedRow, 'id' | 'error' | 'headers'> & {
  id: number | string;
  error: string | null;
  /** As the row has them, or their JSON text; null: none. */
  headers: DelayHeaders | string | null;
};

/** What dead letters report. */
export interface DeadLettersPort {
  /** A recurring delay goes on to that wake. */
  waits(wake: Wake): void;
  /** A row was found without an attempt left. @returns whether its `@OnDeadDelay` is called now */
  found(row: LookedRow): boolean;
}

/** Makes dead letters of rows that no attempt holds. */
export class DeadLetters {
  readonly #unreadable: TaskHealth;
  readonly #exhausted: TaskHealth;
  readonly #size = new StatementSize(ROWS_MAX);
  #isLooking = false;

  constructor(
    private readonly store: AttemptStore,
    private readonly events: DelayEvents,
    private readonly to: DeadLettersPort,
  ) {
    this.#unreadable = new TaskHealth(events, 'deadLetter');
    this.#exhausted = new TaskHealth(events, 'deadLetter');
  }

  /**
   * Checks whether these rows can be read, and rows whose ids are too large for JavaScript.
   * @returns how many became dead letters; 0 when the check failed
   */
  async setAside(ids: readonly number[]): Promise<number> {
    try {
      const rows = await this.store.setAside(ids.filter((id) => Number.isSafeInteger(id)));
      this.#unreadable.worked();
      for (const row of rows) this.emit(row);
      return rows.length;
    } catch (error) {
      this.#unreadable.failed(error);
      return 0;
    }
  }

  /** A page brought a row that no statement can name. One check at a time covers all such rows. */
  async unreadable(id: number): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    await this.setAside([id]);
    this.#isLooking = false;
  }

  /** Those that recur go on. After a failure, the scan finds the rows again. */
  async exhausted(found: readonly ExhaustedClaim[]): Promise<void> {
    const claims = found.filter(({ row }) => !this.to.found(row));
    if (claims.length === 0) return;
    try {
      await inParts(claims, this.#size, (some) => this.#write(some), this.#exhausted);
      this.#exhausted.worked();
    } catch (error) {
      this.#exhausted.failed(error);
    }
  }

  emit({ id, headers, attempts: attempt, error, ...row }: Reported): void {
    if (!this.events.isHeard('dead')) return;
    const { name, key, group } = row;
    const of = { id: String(id), name, key, group, headers: readHeaders(headers), attempt };
    this.events.emit('dead', withCause({ ...of, error: error ?? '', durationMs: null }, undefined));
  }

  async #write(claims: readonly ExhaustedClaim[]): Promise<void> {
    const once: LastClaim[] = [];
    const recurring: EndedOccurrence[] = [];
    for (const { row, maxAttempts } of claims) {
      const { id, epoch, due_ms: dueMs } = row;
      const next = followUp(row);
      if (next?.nextMs === undefined) once.push({ id, epoch, maxAttempts });
      else recurring.push({ id, epoch, maxAttempts, dueMs, ...next, ...DISCARDED });
    }
    if (once.length > 0) {
      for (const row of await this.store.deadLetter(once, EXHAUSTED)) this.emit(row);
    }
    if (recurring.length === 0) return;
    const skipped = new Map(recurring.map((item) => [item.id, item.skipped]));
    for (const row of await this.store.recur(recurring)) {
      this.emit(row);
      const wake = recurredWake(row);
      if (wake !== undefined) this.to.waits(wake);
      tellSkipped(this.events, this.store.nodeName, row, skipped.get(row.id));
    }
  }
}

const DISCARDED = { state: 'discarded', latenessMs: null, error: EXHAUSTED } as const;

/** Without what is no text: a row that is set aside may have headers that break the rules. */
function readHeaders(headers: Reported['headers']): DelayHeaders {
  const read: unknown = typeof headers === 'string' ? JSON.parse(headers) : headers;
  const entries = typeof read === 'object' && read !== null ? Object.entries(read) : [];
  return Object.fromEntries(entries.filter(([, text]) => typeof text === 'string'));
}

/** Undefined: the delay does not recur, or this node cannot read how. */
function followUp({ repeat, due_ms: dueMs, now_ms: nowMs }: LookedRow): GoesOn | undefined {
  if (repeat === null) return undefined;
  try {
    return new Recurrence(JSON.parse(repeat) as StoredRepeat).goesOn('ran', dueMs, dueMs, nowMs);
  } catch {
    return undefined;
  }
}
