import { NO_INSTANT } from '../../../../src/delay-queue/store/wire/arrays.js';
import {
  HELD_MAX_MS,
  type LockWait,
} from '../../../../src/delay-queue/store/sql/parts/lock-wait.js';
import { microsOf, msText, plusMs, UNLEASED, wholeMs, type Micros, type Row } from '../row.js';
import type { Transaction, Waiting } from '../transaction.js';

export interface Slot {
  name: string;
  key: string | null;
}

export function dueOf(tx: Transaction, to: { at: string | null; afterMs: number | null }): Micros {
  if (to.at !== null && to.at !== NO_INSTANT) return microsOf(Date.parse(to.at));
  return wholeMs(plusMs(tx.now, to.afterMs ?? 0));
}

/** The committed row of each input, seen without waiting for anybody. */
export const look = (tx: Transaction, slots: readonly Slot[]): (Row | undefined)[] =>
  slots.map(({ name, key }) => (key === null ? undefined : tx.byKey(name, key)));

/** The rows of the inputs that no attempt holds, locked; as `freeRows` in the library's SQL. */
export function* free(
  tx: Transaction,
  seen: readonly (Row | undefined)[],
  lockWait: LockWait,
  isExpirable: (row: Row) => boolean = () => true,
): Waiting<(Row | undefined)[]> {
  const rows = seen.map((): Row | undefined => undefined);
  for (const [index, row] of seen.entries()) {
    if (row === undefined || row.leasedBy !== null) continue;
    const newest = yield* lockedWith(tx, row.id, lockWait);
    if (newest?.leasedBy === null) rows[index] = newest;
  }
  const isOver = (row: Row | undefined): row is Row =>
    row?.leasedUntil != null && row.leasedUntil <= tx.now && isExpirable(row);
  for (const [index, row] of seen.entries()) {
    if (!isOver(row)) continue;
    const newest = tx.tryLock(row.id);
    if (isOver(newest)) rows[index] = newest;
  }
  return rows;
}

export function* lockedWith(
  tx: Transaction,
  id: number,
  lockWait: LockWait,
): Waiting<Row | undefined> {
  if (lockWait === 'at once') return tx.tryLock(id);
  limitWaits(tx, lockWait);
  return yield* tx.lock(id);
}

/** `lock_timeout`, to the end of the transaction. */
export function limitWaits(tx: Transaction, lockWait: LockWait): void {
  if (lockWait === 'a while') tx.lockTimeoutMs = HELD_MAX_MS;
}

export const moved = (tx: Transaction, row: Row, dueAt: Micros): Row => ({
  ...row,
  dueAt,
  wakeAt: Math.max(dueAt, wholeMs(tx.now)),
  epoch: row.epoch + 1,
  attempts: 0,
  ...UNLEASED,
  lastError: null,
});

export const placement = (tx: Transaction, row: Row) => ({
  id: String(row.id),
  epoch: String(row.epoch),
  due_ms: msText(row.dueAt),
  wake_ms: msText(row.wakeAt),
  now_ms: msText(tx.now),
});
