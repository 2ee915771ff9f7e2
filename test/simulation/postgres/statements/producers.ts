import type { Patience } from '../../../../src/delay-queue/store/sql/look.sql.js';
import { PgError } from '../pg-error.js';
import {
  endedOf,
  isDead,
  microsOf,
  msOf,
  plusMs,
  UNLEASED,
  wholeMs,
  type Micros,
  type Row,
} from '../row.js';
import type { Transaction, Waiting } from '../transaction.js';
import { unnest, type Statement, type WaitingStatement } from './statement.js';

interface Slot {
  name: string;
  key: string | null;
}

interface Input extends Slot {
  payload: string;
  afterMs: number | null;
  at: string | null;
  maxAttempts: number | null;
  onConflict: string;
}

const inputColumns = ['name', 'key', 'payload', 'afterMs', 'at', 'maxAttempts'] as const;

function dueOf(tx: Transaction, to: { at: string | null; afterMs: number | null }): Micros {
  if (to.at !== null) return microsOf(Date.parse(to.at));
  return wholeMs(plusMs(tx.now, to.afterMs ?? 0));
}

/** The committed row of each input, seen without waiting for anybody. */
const look = (tx: Transaction, slots: readonly Slot[]): (Row | undefined)[] =>
  slots.map(({ name, key }) => (key === null ? undefined : tx.byKey(name, key)));

/** The rows of the inputs that no attempt holds, locked; as `freeRows` in the library's SQL. */
function* free(
  tx: Transaction,
  seen: readonly (Row | undefined)[],
  patience: Patience,
  isExpirable: (row: Row) => boolean = () => true,
): Waiting<(Row | undefined)[]> {
  const rows = seen.map((): Row | undefined => undefined);
  for (const [index, row] of seen.entries()) {
    if (row === undefined || row.leasedBy !== null) continue;
    const newest = yield* lockedWith(tx, row.id, patience);
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

function* lockedWith(tx: Transaction, id: number, patience: Patience): Waiting<Row | undefined> {
  return patience === 'waits' ? yield* tx.lock(id) : tx.tryLock(id);
}

const moved = (tx: Transaction, row: Row, dueAt: Micros): Row => ({
  ...row,
  dueAt,
  wakeAt: Math.max(dueAt, wholeMs(tx.now)),
  epoch: row.epoch + 1,
  attempts: 0,
  ...UNLEASED,
  lastError: null,
});

const placement = (tx: Transaction, row: Row) => ({
  id: row.id,
  epoch: row.epoch,
  due_ms: msOf(row.dueAt),
  wake_ms: msOf(row.wakeAt),
  now_ms: msOf(tx.now),
});

/** `lock_timeout`, of no time at all, in the place of waiting for somebody's uncommitted key. */
function insertAtOnce(tx: Transaction, row: Row): boolean {
  const step = tx.insert(row).next();
  if (!step.done) throw new PgError('55P03', 'canceling statement due to lock timeout');
  return step.value;
}

export const placeOf = (nextId: () => number, patience: Patience): WaitingStatement =>
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
      if (!stands) continue;
      placed.push({ ...placement(tx, row), name: row.name, key: row.key });
    }
    return placed;
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

const isFree = (row: Row | undefined): boolean => row?.leasedBy === null;

/** Those that nobody holds; of the others it says nothing. */
export const cancelWaiting: Statement = (tx, arrays) => {
  const gone: object[] = [];
  for (const seen of look(tx, unnest<Slot>(arrays, 'name', 'key'))) {
    const row = seen && isFree(seen) ? tx.tryLock(seen.id) : undefined;
    if (row === undefined || !isFree(row)) continue;
    tx.remove(row.id);
    tx.end(endedOf(row, isDead(row) ? 'discarded' : 'cancelled', tx.now, { error: row.lastError }));
    gone.push({ id: row.id, name: row.name, key: row.key, due_ms: msOf(row.dueAt) });
  }
  return gone;
};

export const cancelOf = (patience: Patience): WaitingStatement =>
  function* (tx, [names, keys, ownId, ownEpoch]) {
    const inputs = unnest<Slot>([names, keys], 'name', 'key');
    const seen = look(tx, inputs);
    const isOther = (row: Row): boolean => row.id !== ownId || row.epoch !== ownEpoch;
    const rows = yield* free(tx, seen, patience, isOther);
    return inputs.map((_, index) => {
      const row = rows[index];
      if (row) {
        tx.remove(row.id);
        const state = isDead(row) ? 'discarded' : 'cancelled';
        tx.end(endedOf(row, state, tx.now, { node: row.leasedBy, error: row.lastError }));
      }
      const before = row ?? seen[index];
      return {
        ord: index + 1,
        verdict: row ? 'cancelled' : verdictWithout(seen[index]),
        id: before?.id ?? null,
        due_ms: before ? msOf(before.dueAt) : null,
      };
    });
  };

export const rescheduleOf = (patience: Patience): WaitingStatement =>
  function* (tx, [names, keys, afters, ats, extensions]) {
    const inputs = unnest<
      Slot & { afterMs: number | null; at: string | null; extendMs: number | null }
    >([names, keys, afters, ats, extensions], 'name', 'key', 'afterMs', 'at', 'extendMs');
    const seen = look(tx, inputs);
    const rows = yield* free(tx, seen, patience);
    return inputs.map((input, index) => {
      const row = rows[index];
      const ord = index + 1;
      if (row && !isDead(row)) {
        const dueAt =
          input.extendMs === null ? dueOf(tx, input) : plusMs(row.dueAt, input.extendMs);
        const after = moved(tx, row, dueAt);
        tx.put(after);
        return { ...placement(tx, after), ord, verdict: 'rescheduled' };
      }
      const before = seen[index];
      return {
        ord,
        verdict: row ? 'absent' : verdictWithout(before),
        id: before?.id ?? null,
        epoch: null,
        due_ms: before ? msOf(before.dueAt) : null,
        wake_ms: null,
        now_ms: msOf(tx.now),
      };
    });
  };

function verdictWithout(seen: Row | undefined): 'running' | 'absent' | 'again' {
  if (seen === undefined) return 'absent';
  return seen.leasedBy === null ? 'again' : 'running';
}

export const moveOnOf = (patience: Patience): WaitingStatement =>
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
    const row = yield* lockedWith(tx, id, patience);
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

export const retryDead: WaitingStatement = function* (tx, [name, key]) {
  const seen = tx.byKey(name as string, key as string);
  if (seen === undefined || !isDead(seen)) return [];
  const row = yield* tx.lock(seen.id);
  if (row === undefined || !isDead(row)) return [];
  const now = wholeMs(tx.now);
  const epoch = row.epoch + 1;
  const after = { ...row, dueAt: now, wakeAt: now, epoch, attempts: 0, ...UNLEASED };
  tx.put(after);
  return [placement(tx, after)];
};
