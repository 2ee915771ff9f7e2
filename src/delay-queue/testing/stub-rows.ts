import type { NewDelay } from '../store/wire/delay-rows.js';
import type { FoundRow } from '../store/wire/delay-rows.js';
import { keyText } from '../store/wire/delay-rows.js';
import { firstMsOf } from '../recurrence/recurrence.js';
import type { MoveTo } from '../validation/when.js';

const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** As rows keep them. */
const MOVES_MAX = 20;

/** Delays that wait, in memory: one per (name, key), as the table has them. Time is that of `Date`. */
export class StubRows {
  readonly #byKey = new Map<string, FoundRow>();
  #ids = 0;

  clear(): void {
    this.#byKey.clear();
  }

  find(name: string, key: string | null): FoundRow | undefined {
    return key === null ? undefined : this.#byKey.get(keyText({ name, key }));
  }

  byId(id: number): FoundRow | undefined {
    return [...this.#byKey.values()].find((row) => row.id === String(id));
  }

  remove({ name, key }: FoundRow): void {
    this.#byKey.delete(keyText({ name, key }));
  }

  nextId(): string {
    return String(++this.#ids);
  }

  place(delay: NewDelay): { verdict: 'scheduled' | 'replaced' | 'kept'; row: FoundRow } {
    const nowMs = Date.now();
    const old = this.find(delay.name, delay.key);
    const due = dueMs(delay, nowMs);
    if (old === undefined) {
      const row = rowOf(delay, this.nextId(), nowMs, due);
      if (delay.key !== null) this.#byKey.set(keyText(delay), row);
      return { verdict: 'scheduled', row };
    }
    if (!replaces(delay, old, due)) return { verdict: 'kept', row: old };
    const { maxWaitMs = null, repeat = null } = delay;
    const createdMs = maxWaitMs === null ? nowMs : old.created_ms;
    const row = rowOf(delay, old.id, createdMs, Math.min(due, createdMs + (maxWaitMs ?? Infinity)));
    if (repeat === null) row.repeat = old.repeat;
    else if (!repeat.hasFirst && row.repeat === old.repeat) moveTo(row, old.due_ms, nowMs);
    this.#byKey.set(keyText(delay), row);
    return { verdict: 'replaced', row };
  }

  move(row: FoundRow, to: MoveTo): void {
    const nowMs = Date.now();
    const fromMs = row.due_ms;
    const due = to.kind === 'extend' ? Math.min(fromMs + to.ms, LAST_MS) : instantMs(to, nowMs);
    moveTo(row, due, nowMs);
    const moves: unknown[] = row.move_log === null ? [] : JSON.parse(row.move_log);
    moves.push({ call: 'reschedule', atMs: nowMs, fromMs, toMs: due });
    row.move_log = JSON.stringify(moves.slice(-MOVES_MAX));
  }
}

function replaces({ onConflict }: NewDelay, old: FoundRow, due: number): boolean {
  if (onConflict === 'earlier') return due < old.due_ms;
  if (onConflict === 'later') return due > old.due_ms;
  return onConflict === 'replace';
}

function moveTo(row: FoundRow, due: number, nowMs: number): void {
  row.due_ms = due;
  row.wake_ms = Math.max(due, nowMs);
}

const instantMs = (to: Exclude<MoveTo, { kind: 'extend' }>, nowMs: number): number =>
  to.kind === 'after' ? nowMs + to.ms : Date.parse(to.iso);

function dueMs({ to, repeat = null }: NewDelay, nowMs: number): number {
  if (repeat !== null && !repeat.hasFirst && 'cron' in repeat.how) {
    return firstMsOf(repeat.how, nowMs);
  }
  return instantMs(to as Exclude<MoveTo, { kind: 'extend' }>, nowMs);
}

const rowOf = (delay: NewDelay, id: string, createdMs: number, due: number): FoundRow => ({
  id,
  name: delay.name,
  key: delay.key as string,
  group: delay.group,
  headers: delay.headers,
  payload: delay.payload,
  state: 'scheduled',
  due_ms: due,
  wake_ms: Math.max(due, Date.now()),
  attempts: 0,
  max_attempts: delay.maxAttempts,
  last_error: null,
  created_ms: createdMs,
  repeat: delay.repeat ? JSON.stringify(delay.repeat.how) : null,
  attempt_log: null,
  move_log: null,
  rerun_ms: null,
});
