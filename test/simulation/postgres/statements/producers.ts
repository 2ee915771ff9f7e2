import { NO_INSTANT } from '../../../../src/delay-queue/store/wire/arrays.js';
import type { LockWait } from '../../../../src/delay-queue/store/sql/parts/lock-wait.js';
import {
  endedOf,
  isDead,
  msText,
  plusMs,
  textOrNull,
  UNLEASED,
  wholeMs,
  type Row,
} from '../row.js';
import { dueOf, free, lockedWith, look, moved, placement, type Slot } from './keyed-rows.js';
import { unnest, type Statement, type WaitingStatement } from './statement.js';

const isFree = (row: Row | undefined): boolean => row?.leasedBy === null;

/** Those that nobody holds; of the others it says nothing. */
export const cancelWaiting: Statement = (tx, arrays) => {
  const gone: object[] = [];
  for (const seen of look(tx, unnest<Slot>(arrays, 'name', 'key'))) {
    const row = seen && isFree(seen) ? tx.tryLock(seen.id) : undefined;
    if (row === undefined || !isFree(row)) continue;
    tx.remove(row.id);
    tx.end(endedOf(row, isDead(row) ? 'discarded' : 'cancelled', tx.now, { error: row.lastError }));
    gone.push({ id: String(row.id), name: row.name, key: row.key, due_ms: msText(row.dueAt) });
  }
  return gone;
};

export const cancelOf = (lockWait: LockWait): WaitingStatement =>
  function* (tx, [names, keys, ownId, ownEpoch]) {
    const inputs = unnest<Slot>([names, keys], 'name', 'key');
    const seen = look(tx, inputs);
    const isOther = (row: Row): boolean => row.id !== ownId || row.epoch !== ownEpoch;
    const rows = yield* free(tx, seen, lockWait, isOther);
    return inputs.map((_, index) => {
      const row = rows[index];
      if (row) {
        tx.remove(row.id);
        const state = isDead(row) ? 'discarded' : 'cancelled';
        tx.end(endedOf(row, state, tx.now, { node: row.leasedBy, error: row.lastError }));
      }
      const before = row ?? seen[index];
      return {
        ord: String(index + 1),
        verdict: row ? 'cancelled' : verdictWithout(seen[index]),
        id: textOrNull(before?.id),
        due_ms: before ? msText(before.dueAt) : null,
      };
    });
  };

export const rescheduleOf = (lockWait: LockWait): WaitingStatement =>
  function* (tx, [names, keys, afters, ats, extensions]) {
    const inputs = unnest<Slot & { afterMs: number; at: string; extendMs: number }>(
      [names, keys, afters, ats, extensions],
      'name',
      'key',
      'afterMs',
      'at',
      'extendMs',
    );
    const seen = look(tx, inputs);
    const rows = yield* free(tx, seen, lockWait);
    return inputs.map((input, index) => {
      const row = rows[index];
      const ord = String(index + 1);
      if (row && !isDead(row)) {
        const isExtension = input.at === NO_INSTANT && Number.isNaN(input.afterMs);
        const dueAt = isExtension ? plusMs(row.dueAt, input.extendMs) : dueOf(tx, input);
        const after = moved(tx, row, dueAt);
        tx.put(after);
        return { ...placement(tx, after), ord, verdict: 'rescheduled' };
      }
      const before = seen[index];
      return {
        ord,
        verdict: row ? 'absent' : verdictWithout(before),
        id: textOrNull(before?.id),
        epoch: null,
        due_ms: before ? msText(before.dueAt) : null,
        wake_ms: null,
        now_ms: msText(tx.now),
      };
    });
  };

function verdictWithout(seen: Row | undefined): 'running' | 'absent' | 'again' {
  if (seen === undefined) return 'absent';
  return seen.leasedBy === null ? 'again' : 'running';
}

export const moveOnOf = (lockWait: LockWait): WaitingStatement =>
  function* (tx, parameters) {
    const [id, epoch, node, payload, afterMs, at, extendMs, maxAttempts, latenessMs] =
      parameters as [
        number,
        number,
        string,
        string | null,
        number | null,
        string | null,
        number | null,
        number | null,
        number,
      ];
    const isOwn = (found: Row | undefined): found is Row =>
      found?.epoch === epoch && found.leasedBy === node;
    if (!isOwn(tx.row(id))) return [];
    const row = yield* lockedWith(tx, id, lockWait);
    if (!isOwn(row)) return [];
    const dueAt = extendMs === null ? dueOf(tx, { at, afterMs }) : plusMs(row.dueAt, extendMs);
    const after: Row = {
      ...moved(tx, row, dueAt),
      payload: payload ?? row.payload,
      maxAttempts: maxAttempts ?? row.maxAttempts,
      createdAt: tx.now,
    };
    tx.put(after);
    const { leasedBy, lastError: error } = row;
    tx.end(endedOf(row, 'superseded', tx.now, { latenessMs, node: leasedBy, error }));
    return [placement(tx, after)];
  };

export const retryDeadOf = (lockWait: LockWait): WaitingStatement =>
  function* (tx, [name, key]) {
    const seen = tx.byKey(name as string, key as string);
    if (seen === undefined || !isDead(seen)) return [];
    const row = yield* lockedWith(tx, seen.id, lockWait);
    if (row === undefined || !isDead(row)) return [];
    const now = wholeMs(tx.now);
    const epoch = row.epoch + 1;
    const after = { ...row, dueAt: now, wakeAt: now, epoch, attempts: 0, ...UNLEASED };
    tx.put(after);
    return [placement(tx, after)];
  };
