import type { Patience } from '../../../../src/delay-queue/store/sql/look.sql.js';
import type { Latecomer } from '../../../../src/delay-queue/store/sql/place.sql.js';
import { PgError } from '../pg-error.js';
import { endedOf, isDead, msOf, wholeMs, type Row } from '../row.js';
import type { Transaction } from '../transaction.js';
import { dueOf, free, look, moved, placement, type Slot } from './keyed-rows.js';
import { unnest, type WaitingStatement } from './statement.js';

interface Input extends Slot {
  payload: string;
  afterMs: number | null;
  at: string | null;
  maxAttempts: number | null;
  onConflict: string;
}

const inputColumns = ['name', 'key', 'payload', 'afterMs', 'at', 'maxAttempts'] as const;

/** `lock_timeout`, of no time at all, in the place of waiting for somebody's uncommitted key. */
function insertAtOnce(tx: Transaction, row: Row): boolean {
  const step = tx.insert(row).next();
  if (!step.done) throw new PgError('55P03', 'canceling statement due to lock timeout');
  return step.value;
}

export const placeOf = (
  nextId: () => number,
  latecomer: Latecomer,
  patience: Patience,
): WaitingStatement =>
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
        key: input.key,
        payload: input.payload,
        dueAt,
        wakeAt: Math.max(dueAt, wholeMs(tx.now)),
        leasedUntil: null,
        leasedBy: null,
        createdAt: tx.now,
        epoch: 0,
        attempts: 0,
        maxAttempts: input.maxAttempts,
        lastError: null,
      };
      const stands = patience === 'waits' ? yield* tx.insert(row) : insertAtOnce(tx, row);
      if (!stands && latecomer === 'refused') {
        throw new PgError('23505', 'duplicate key value violates unique constraint "delay_key"');
      }
      if (!stands) continue;
      placed.push({ ...placement(tx, row), name: row.name, key: row.key });
    }
    return placed;
  };

/** All, or none when a key is taken; as a transaction of its own. */
export const placeAllOf = (nextId: () => number): WaitingStatement => {
  const place = placeOf(nextId, 'refused', 'waits');
  return function* (tx, arrays) {
    const isTaken = look(tx, unnest<Input>(arrays, ...inputColumns)).some((row) => row);
    return isTaken ? [] : yield* place(tx, arrays);
  };
};

export const placeAgainOf = (patience: Patience): WaitingStatement =>
  function* (tx, arrays) {
    const inputs = unnest<Input>(arrays, ...inputColumns, 'onConflict');
    const seen = look(tx, inputs);
    const rows = yield* free(tx, seen, patience);
    return inputs.map((input, index) => {
      const row = rows[index];
      const ord = index + 1;
      const before = row ?? seen[index];
      const unplaced = {
        ord,
        id: before?.id ?? null,
        epoch: null,
        due_ms: before ? msOf(before.dueAt) : null,
        wake_ms: null,
        now_ms: msOf(tx.now),
      };
      if (row && (input.onConflict === 'replace' || isDead(row))) {
        const { payload, maxAttempts } = input;
        const dueAt = dueOf(tx, input);
        const after = { ...moved(tx, row, dueAt), payload, maxAttempts, createdAt: tx.now };
        tx.put(after);
        if (isDead(row)) tx.end(endedOf(row, 'discarded', tx.now, { error: row.lastError }));
        return { ...placement(tx, after), ord, verdict: isDead(row) ? 'scheduled' : 'replaced' };
      }
      if (row) return { ...unplaced, verdict: input.onConflict === 'keep' ? 'kept' : 'conflict' };
      const isLeased = seen[index] !== undefined && seen[index].leasedBy !== null;
      return { ...unplaced, verdict: isLeased ? 'running' : 'again' };
    });
  };
