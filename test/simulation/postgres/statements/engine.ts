import {
  endedOf,
  isDead,
  msText,
  plusMs,
  textOrNull,
  UNLEASED,
  usText,
  wakeOf,
  wholeMs,
  type Row,
} from '../row.js';
import type { Transaction } from '../transaction.js';
import { listOf, unnest, type Statement, type WaitingStatement } from './statement.js';

interface Fenced {
  id: number;
  epoch: number;
}

/** Rows that still have the epoch they are asked for with, locked in order of their ids. */
function* fencedRows<Item extends Fenced>(
  tx: Transaction,
  items: readonly Item[],
  isWanted: (row: Row, item: Item) => boolean,
): Generator<[Row, Item], void, void> {
  const locked = new Set<number>();
  for (const item of items.toSorted((a, b) => a.id - b.id)) {
    const before = tx.row(item.id);
    if (before === undefined || before.epoch !== item.epoch || !isWanted(before, item)) continue;
    if (locked.has(item.id)) continue;
    const row = tx.tryLock(item.id);
    if (row === undefined) continue;
    locked.add(item.id);
    yield [row, item];
  }
}

export const claim: Statement = (tx, [ids, epochs, leases, maxima, node]) => {
  interface Wanted extends Fenced {
    leaseMs: number;
    maxAttempts: number;
  }
  const wanted = unnest<Wanted>(
    [ids, epochs, leases, maxima],
    'id',
    'epoch',
    'leaseMs',
    'maxAttempts',
  );
  const claimed: object[] = [];
  const isWanted = (row: Row, item: Wanted): boolean =>
    wakeOf(row) <= tx.now && row.attempts < (row.maxAttempts ?? item.maxAttempts);
  for (const [row, item] of fencedRows(tx, wanted, isWanted)) {
    const after: Row = {
      ...row,
      leasedUntil: plusMs(tx.now, item.leaseMs),
      leasedBy: node as string,
      epoch: row.epoch + 1,
      attempts: row.attempts + 1,
    };
    tx.put(after);
    claimed.push({
      id: String(after.id),
      epoch: String(after.epoch),
      name: after.name,
      key: after.key,
      payload: after.payload,
      due_us: usText(after.dueAt),
      created_us: usText(after.createdAt),
      attempts: String(after.attempts),
      max_attempts: String(row.maxAttempts ?? item.maxAttempts),
      now_us: usText(tx.now),
    });
  }
  return claimed;
};

export const lookAt: Statement = (tx, [ids]) => {
  const rows = listOf(ids).map((id) => tx.row(id as number));
  return [...new Set(rows)]
    .filter((row) => row !== undefined)
    .map((row) => ({
      id: String(row.id),
      epoch: String(row.epoch),
      name: row.name,
      attempts: String(row.attempts),
      max_attempts: textOrNull(row.maxAttempts),
      leased_by: row.leasedBy,
      failed: String(row.lastError !== null),
      wake_ms: isDead(row) ? null : msText(wakeOf(row)),
      now_ms: msText(tx.now),
    }));
};

export const complete: Statement = (tx, [ids, epochs, latenesses]) => {
  const items = unnest<Fenced & { latenessMs: number }>(
    [ids, epochs, latenesses],
    'id',
    'epoch',
    'latenessMs',
  );
  const removed = new Set<number>();
  for (const [row, { latenessMs }] of fencedRows(tx, items, () => true)) {
    tx.remove(row.id);
    tx.end(endedOf(row, 'completed', tx.now, { latenessMs, node: row.leasedBy }));
    removed.add(row.id);
  }
  return items.filter(({ id }) => !removed.has(id)).map(({ id }) => ({ id: String(id) }));
};

export const settle: Statement = (
  tx,
  [ids, epochs, waits, moves, refunds, fails, errors, node],
) => {
  interface Item extends Fenced {
    /** NaN: a dead letter. */
    waitMs: number;
    movesDue: boolean;
    refund: number;
    failed: boolean;
    error: string;
  }
  const items = unnest<Item>(
    [ids, epochs, waits, moves, refunds, fails, errors],
    'id',
    'epoch',
    'waitMs',
    'movesDue',
    'refund',
    'failed',
    'error',
  );
  const settled: object[] = [];
  for (const [row, item] of fencedRows(tx, items, (found) => found.leasedBy === node)) {
    const wakeAt = Number.isNaN(item.waitMs) ? Infinity : wholeMs(plusMs(tx.now, item.waitMs));
    const after: Row = {
      ...row,
      wakeAt,
      dueAt: item.movesDue ? wakeAt : row.dueAt,
      attempts: row.attempts - item.refund,
      epoch: row.epoch + 1,
      ...UNLEASED,
      lastError: item.failed ? item.error : row.lastError,
    };
    tx.put(after);
    settled.push({
      id: String(after.id),
      epoch: String(after.epoch),
      name: after.name,
      failed: String(after.lastError !== null),
      wake_ms: isDead(after) ? null : msText(after.wakeAt),
    });
  }
  return settled;
};

export const bury: Statement = (tx, [ids, epochs, maxima, error]) => {
  const items = unnest<Fenced & { maxAttempts: number }>(
    [ids, epochs, maxima],
    'id',
    'epoch',
    'maxAttempts',
  );
  const buried: object[] = [];
  const isExhausted = (row: Row, { maxAttempts }: { maxAttempts: number }): boolean =>
    wakeOf(row) <= tx.now && row.attempts >= (row.maxAttempts ?? maxAttempts);
  for (const [row] of fencedRows(tx, items, isExhausted)) {
    const lastError = row.lastError ?? (error as string);
    tx.put({ ...row, wakeAt: Infinity, epoch: row.epoch + 1, ...UNLEASED, lastError });
    const { id, name, key, attempts } = row;
    buried.push({ id: String(id), name, key, attempts: String(attempts), error: lastError });
  }
  return buried;
};

export const renew: Statement = (tx, [ids, epochs, leaseMs]) => {
  const items = unnest<Fenced>([ids, epochs], 'id', 'epoch');
  const renewed: object[] = [];
  for (const [row] of fencedRows(tx, items, (found) => found.leasedBy !== null)) {
    tx.put({ ...row, leasedUntil: plusMs(tx.now, leaseMs as number) });
    renewed.push({ id: String(row.id) });
  }
  return renewed;
};

export const fence: WaitingStatement = function* (tx, [ids, epochs, idleMs]) {
  const held: number[] = [];
  const items = unnest<Fenced>([ids, epochs], 'id', 'epoch');
  for (const { id, epoch } of items.toSorted((a, b) => a.id - b.id)) {
    if (tx.row(id)?.epoch !== epoch) continue;
    const row = yield* tx.lock(id);
    if (row?.epoch === epoch) held.push(id);
  }
  tx.idleMs = Number(idleMs);
  return [
    {
      idle: idleMs,
      pid: String(tx.session),
      began_us: tx.began,
      isolation: 'read committed',
      ids: JSON.stringify(held),
    },
  ];
};
