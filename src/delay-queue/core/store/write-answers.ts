import { DelayConflictError, type DelayError, DelayInvalidError } from '../api/errors.js';
import type { MoveTo } from '../config/durations.js';
import type { Runner } from '../database/runner.js';
import { type AsText, msOfUs } from './rows/answers.js';
import {
  keyText,
  type NameAndKey,
  type NewDelay,
  NO_INSTANT,
  NO_KEY,
  NO_MAXIMUM,
  NO_MS,
  numbers,
  type Placed,
  texts,
} from './rows/delay-rows.js';
import { EXTRA_NAMES, type StoredExtras, EXTRAS, toInstantMs, toNumber } from './rows/columns.js';
import type { WrittenColumns, Says } from './sql/schedule.sql.js';

/** The three input columns for the due time; exactly one of them is set. */
export function moveTarget(to: MoveTo): {
  afterMs: number | null;
  at: string | null;
  extendMs: number | null;
} {
  return {
    afterMs: to.kind === 'after' ? to.ms : null,
    at: to.kind === 'at' ? to.iso : null,
    extendMs: to.kind === 'extend' ? to.ms : null,
  };
}

/** Parameters that name delays: one array per column. */
export const targetColumns = (targets: readonly NameAndKey[]): string[] => [
  texts(targets.map(({ name }) => name)),
  texts(targets.map(({ key }) => key)),
];

/** Parameters that move them. */
export function moveColumns(moves: readonly MoveTo[]): string[] {
  const to = moves.map(moveTarget);
  return [
    numbers(to.map(({ afterMs }) => afterMs ?? NO_MS)),
    texts(to.map(({ at }) => at ?? NO_INSTANT)),
    numbers(to.map(({ extendMs }) => extendMs ?? NO_MS)),
  ];
}

/**
 * Adds who asked for a change to the parameters of its statement; a call that does not say so keeps
 * its statement and plan. @returns SQL for that parameter
 */
export const byParameter = (parameters: unknown[], by: string | undefined): string | undefined =>
  by === undefined ? undefined : `$${parameters.push(by)}::text`;

/** Parameters of `place`, and the first ones of `placeAgain`: one array per column. */
export function newDelayColumns(newDelays: readonly NewDelay[]): string[] {
  const to = newDelays.map((newDelay) => moveTarget(newDelay.to));
  return [
    texts(newDelays.map((newDelay) => newDelay.name)),
    texts(newDelays.map((newDelay) => newDelay.key ?? NO_KEY)),
    texts(newDelays.map((newDelay) => newDelay.payload)),
    numbers(to.map((column) => column.afterMs ?? 0)),
    texts(to.map((column) => column.at ?? NO_INSTANT)),
    numbers(newDelays.map((newDelay) => newDelay.maxAttempts ?? NO_MAXIMUM)),
  ];
}

/** What few delays have, as JSON text that the statement parses. */
export function extrasText(
  newDelay: StoredExtras & Pick<NewDelay, 'maxWaitMs' | 'repeat'>,
): string {
  const { maxWaitMs = null, repeat = null } = newDelay;
  const fields: string[] = [];
  for (const extra of EXTRA_NAMES) {
    const value = newDelay[extra];
    if (value === null) continue;
    fields.push(`"${extra}":${EXTRAS[extra].type === 'text' ? JSON.stringify(value) : value}`);
  }
  if (maxWaitMs !== null) fields.push(`"maxWait":${maxWaitMs}`);
  if (repeat !== null) {
    fields.push(`"repeat":${JSON.stringify(repeat.how)},"first":${repeat.hasFirst}`);
  }
  return `{${fields.join()}}`;
}

/** An insert statement's text, by the columns that it writes. */
export type InsertSql = (columns: WrittenColumns) => string;

export const whatTheySay = (newDelays: readonly NewDelay[]): Says =>
  newDelays.some(({ repeat = null }) => repeat !== null) ? 'how it recurs' : 'when';

/** Parameters of `placeAgain`. */
export const takenColumns = (newDelays: readonly NewDelay[]): string[] => [
  ...newDelayColumns(newDelays),
  texts(newDelays.map((newDelay) => newDelay.onConflict)),
  texts(newDelays.map(extrasText)),
];

function queryFor<Row>(
  runner: Runner,
  sql: InsertSql,
  newDelays: readonly NewDelay[],
): Promise<Row[]> {
  const parameters = newDelayColumns(newDelays);
  const columns = writtenColumns(newDelays);
  if (columns !== 'usual') parameters.push(texts(newDelays.map(extrasText)));
  return runner.query<Row>(sql(columns), parameters);
}

const hasExtras = (newDelay: NewDelay): boolean =>
  EXTRA_NAMES.some((extra) => newDelay[extra] !== null);

function writtenColumns(newDelays: readonly NewDelay[]): WrittenColumns {
  if (whatTheySay(newDelays) === 'how it recurs') return 'recurring';
  return newDelays.some(hasExtras) ? 'all' : 'usual';
}

/** The error for a delay that was not written because its key was taken. */
export function takenKeyError(
  { verdict }: Placed,
  { name, key }: Pick<NewDelay, 'name' | 'key'>,
): DelayError | undefined {
  if (verdict === 'conflict') return new DelayConflictError(name, key ?? '');
  return verdict === 'declared' ? declaredInCode() : undefined;
}

/** For a call that sets a repeat. */
export const declaredInCode = (): DelayInvalidError =>
  new DelayInvalidError('key', 'belongs to a @RepeatDelay; choose another');

/** Answer of a statement about existing delays; the numbers are null when the delay is absent. */
export type PlacedRow = AsText<
  'verdict' | 'id' | 'name' | 'due_ms' | 'now_ms',
  'key' | 'epoch' | 'wake_ms'
> & { group_id?: string | null; dropped?: string };

/** @param verdict for statements that return only rows of one verdict */
export function readPlaced(row: PlacedRow, verdict = row.verdict): Placed {
  return {
    verdict,
    id: toNumber(row.id),
    group: row.group_id,
    dueMs: toInstantMs(row.due_ms),
    epoch: toNumber(row.epoch),
    wakeMs: toNumber(row.wake_ms),
    nowMs: toNumber(row.now_ms),
    ...(row.dropped === 'true' && { rerunCancelled: true as const }),
  };
}

/** The epoch of a new row: the default of its column. */
const EPOCH_FIRST = 0;

type InsertedRow = AsText<'id' | 'due_ms' | 'now_us'>;
type KeyedRow = InsertedRow & AsText<'name', 'key'>;

/** Runs a `place` statement: inserts what it can; undefined where the key was taken. */
export async function insert(
  runner: Runner,
  sql: InsertSql,
  newDelays: readonly NewDelay[],
): Promise<(Placed | undefined)[]> {
  const rows = await queryFor<KeyedRow>(runner, sql, newDelays);
  if (rows.length === newDelays.length) return scheduledInOrder(rows);
  // Keyless rows match in order, keyed rows by their keys.
  const keyless = scheduledInOrder(rows.filter(({ key }) => key === null)).values();
  const keyed = new Map(rows.filter(({ key }) => key !== null).map((row) => [keyText(row), row]));
  return newDelays.map((newDelay) => {
    if (newDelay.key === null) return keyless.next().value;
    const row = keyed.get(keyText(newDelay));
    return row && scheduled(row);
  });
}

/** Runs a statement that inserts all or none; undefined if none. */
export async function insertAll(
  runner: Runner,
  sql: InsertSql,
  newDelays: readonly NewDelay[],
): Promise<Placed[] | undefined> {
  const rows = await queryFor<InsertedRow>(runner, sql, newDelays);
  return rows.length === 0 ? undefined : scheduledInOrder(rows);
}

/** Ids follow the order of the input; the order of RETURNING is not guaranteed. */
const scheduledInOrder = (rows: readonly InsertedRow[]): Placed[] =>
  rows.map(scheduled).toSorted((a, b) => a.id - b.id);

function scheduled(row: InsertedRow): Placed {
  const dueMs = Number(row.due_ms);
  const nowMs = msOfUs(row.now_us);
  return {
    verdict: 'scheduled',
    id: Number(row.id),
    dueMs,
    epoch: EPOCH_FIRST,
    // As the statement has written it: due, or now if that is past.
    wakeMs: Math.max(dueMs, Math.ceil(nowMs)),
    nowMs,
  };
}

/**
 * Answer of a function that writes one delay: numbers in one text, separated by spaces; null where
 * the function wrote nothing.
 */
export type OneRow = AsText<never, 'answer'>;

export function scheduledOne({ answer }: OneRow): Placed | undefined {
  if (answer === null) return undefined;
  const [id, due_ms, now_us] = answer.split(' ') as [string, string, string];
  return scheduled({ id, due_ms, now_us });
}

export function cancelledOne({ answer }: OneRow): Placed | undefined {
  if (answer === null) return undefined;
  const [id, due_ms] = answer.split(' ') as [string, string];
  return readPlaced({ id, due_ms } as PlacedRow, 'cancelled');
}
