import { NO_KEY, NO_MAXIMUM } from '../../../../src/delay-queue/store/wire/arrays.js';
import type { Extent } from '../../../../src/delay-queue/store/sql/delays/schedule-taken.sql.js';
import type { LockWait } from '../../../../src/delay-queue/store/sql/parts/lock-wait.js';
import { PgError } from '../pg-error.js';
import { endedOf, isDead, msText, textOrNull, usText, wholeMs, type Row } from '../row.js';
import type { Transaction, Waiting } from '../transaction.js';
import { dueOf, free, limitWaits, look, moved, placement, type Slot } from './keyed-rows.js';
import { listOf, type Statement, unnest, type WaitingStatement } from './statement.js';

interface Input extends Slot {
  payload: string;
  afterMs: number;
  at: string;
  maxAttempts: number;
  onConflict: string;
}

const inputColumns = ['name', 'key', 'payload', 'afterMs', 'at', 'maxAttempts'] as const;

const maximumOf = ({ maxAttempts }: Input): number | null =>
  maxAttempts === NO_MAXIMUM ? null : maxAttempts;

type Insert = (tx: Transaction, row: Row) => boolean | Waiting<boolean>;

/** Ready for a key that somebody commits while the statement waits for him. */
const leavingOut: Insert = (tx, row) => tx.insert(row);

const refusing = function* (tx: Transaction, row: Row): Waiting<boolean> {
  if (yield* tx.insert(row)) return true;
  throw new PgError('23505', 'duplicate key value violates unique constraint "delay_key"');
};

/** `lock_timeout`, of no time at all, in the place of waiting for somebody's uncommitted key. */
const atOnce: Insert = (tx, row) => {
  const step = refusing(tx, row).next();
  if (!step.done) throw new PgError('55P03', 'canceling statement due to lock timeout');
  return step.value;
};

type NextId = () => number;

export const placeOf = (nextId: NextId, lockWait: LockWait): WaitingStatement => {
  const place = placeWith(nextId, lockWait === 'at once' ? atOnce : leavingOut);
  return (tx, arrays) => {
    limitWaits(tx, lockWait);
    return place(tx, arrays);
  };
};

/** All, or none when a key is taken; as a transaction of its own. */
export const placeAllOf = (nextId: NextId): WaitingStatement => {
  const place = placeWith(nextId, refusing);
  return function* (tx, arrays) {
    const isTaken = look(tx, unnest<Input>(arrays, ...inputColumns)).some((row) => row);
    return isTaken ? [] : yield* place(tx, arrays);
  };
};

const placeWith = (nextId: NextId, insert: Insert): WaitingStatement =>
  function* (tx, arrays) {
    const inputs = unnest<Input>(arrays, ...inputColumns);
    const taken = look(tx, inputs);
    const placed: object[] = [];
    for (const [index, input] of inputs.entries()) {
      if (taken[index] !== undefined) continue;
      const dueAt = dueOf(tx, input);
      const row: Row = {
        id: nextId(),
        name: input.name,
        key: input.key === NO_KEY ? null : input.key,
        payload: input.payload,
        dueAt,
        wakeAt: Math.max(dueAt, wholeMs(tx.now)),
        leasedUntil: null,
        leasedBy: null,
        createdAt: tx.now,
        epoch: 0,
        attempts: 0,
        maxAttempts: maximumOf(input),
        lastError: null,
      };
      const inserted = insert(tx, row);
      if (!(typeof inserted === 'boolean' ? inserted : yield* inserted)) continue;
      placed.push({
        id: String(row.id),
        due_ms: msText(row.dueAt),
        now_us: usText(tx.now),
        name: row.name,
        key: row.key,
      });
    }
    return placed;
  };

/** What stands against writing all of them. */
const isBlocked = (row: Row | undefined, seen: Row | undefined, onConflict: string): boolean =>
  row === undefined ? (seen?.leasedBy ?? null) === null : onConflict === 'error' && !isDead(row);

const replaces = (onConflict: string, dueAt: number, waitingAt: number): boolean =>
  onConflict === 'replace' ||
  (onConflict === 'earlier' && dueAt < waitingAt) ||
  (onConflict === 'later' && dueAt > waitingAt);

export const placeAgainOf = (lockWait: LockWait, extent: Extent = 'each'): WaitingStatement =>
  function* (tx, arrays) {
    const inputs = unnest<Input>(arrays, ...inputColumns, 'onConflict');
    const seen = look(tx, inputs);
    const rows = yield* free(tx, seen, lockWait);
    const isAnyBlocked =
      extent === 'all or none' &&
      inputs.some(({ onConflict }, index) => isBlocked(rows[index], seen[index], onConflict));
    return inputs.map((input, index) => {
      const row = rows[index];
      const ord = String(index + 1);
      const before = row ?? seen[index];
      const unplaced = {
        ord,
        id: textOrNull(before?.id),
        epoch: null,
        due_ms: before ? msText(before.dueAt) : null,
        wake_ms: null,
        now_ms: msText(tx.now),
      };
      const dueAt = dueOf(tx, input);
      if (row && !isAnyBlocked && (isDead(row) || replaces(input.onConflict, dueAt, row.dueAt))) {
        const { payload } = input;
        const maxAttempts = maximumOf(input);
        const after = { ...moved(tx, row, dueAt), payload, maxAttempts, createdAt: tx.now };
        tx.put(after);
        if (isDead(row)) tx.end(endedOf(row, 'discarded', tx.now, { error: row.lastError }));
        return { ...placement(tx, after), ord, verdict: isDead(row) ? 'scheduled' : 'replaced' };
      }
      if (row && input.onConflict !== 'error') return { ...unplaced, verdict: 'kept' };
      if (row && !isDead(row)) return { ...unplaced, verdict: 'conflict' };
      const isLeased = seen[index] !== undefined && seen[index].leasedBy !== null;
      return { ...unplaced, verdict: isLeased ? 'running' : 'again' };
    });
  };

export const unplace: Statement = (tx, [ids]) => {
  for (const id of listOf(ids) as number[]) tx.remove(id);
  return [];
};
