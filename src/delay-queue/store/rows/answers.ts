import type { ClaimedRow, LookedRow, OnDeadRow, PassedRow, RetriedRow } from './attempt-rows.js';
import { numberOf } from './columns.js';
import { type LoadedPage, REFUSED, type SweptPage, type Wake } from './delay-rows.js';

/*
 * The answers of statements, and what the store makes of them; writes of a caller's delay are in
 * `write-answers.ts`.
 *
 * Every column is a text, cast in the statement: an application may change how `pg` parses any
 * type, and a role may change how Postgres formats numbers and instants. The texts are whole
 * numbers or `numeric`, which have only one format, as do the numbers in JSON.
 */

/** The columns of a row, each as text. */
export type AsText<Column extends string, MayBeNull extends string = never> = Record<
  Column,
  string
> &
  Record<MayBeNull, string | null>;

const isTrue = (text: string): boolean => text === 'true';

/** For present instants, whose microseconds a float can hold. */
export const msOfUs = (us: string): number => Number(us) / 1e3;

export type IdAnswer = AsText<'id'>;
export const idOf = ({ id }: IdAnswer): number => Number(id);

export type CountAnswer = AsText<'count'>;

/** A page of history of which some was deleted. */
export type DeletedAnswer = CountAnswer &
  AsText<'read'> &
  AsText<never, 'ended_at' | 'id' | 'epoch'>;

/** Instant, id and epoch of the row behind which a page begins, as parameters of its statement. */
export type PagePosition = readonly (string | null)[];

export const FIRST_PAGE: PagePosition = ['-infinity', '0', '0'];

/** @returns undefined behind a page without a row */
export const endOf = ({ ended_at: endedAt, id, epoch }: DeletedAnswer): PagePosition | undefined =>
  endedAt === null ? undefined : [endedAt, id, epoch];

export type ClaimAnswer = AsText<
  | 'id'
  | 'epoch'
  | 'name'
  | 'payload'
  | 'due_us'
  | 'created_us'
  | 'attempts'
  | 'max_attempts'
  | 'now_us',
  'key' | 'extras'
>;

export const claimedOf = (row: ClaimAnswer): ClaimedRow => ({
  id: Number(row.id),
  epoch: Number(row.epoch),
  name: row.name,
  key: row.key,
  extras: row.extras,
  payload: row.payload,
  due_ms: msOfUs(row.due_us),
  created_ms: msOfUs(row.created_us),
  attempts: Number(row.attempts),
  max_attempts: Number(row.max_attempts),
  now_ms: msOfUs(row.now_us),
});

export type OnDeadAnswer = ClaimAnswer & AsText<never, 'last_error'>;

export const onDeadRowOf = (row: OnDeadAnswer): OnDeadRow =>
  Object.assign(claimedOf(row), { last_error: row.last_error });

export type LookAnswer = AsText<
  'id' | 'epoch' | 'name' | 'attempts' | 'failed' | 'is_odd' | 'due_ms' | 'now_ms',
  'max_attempts' | 'leased_by' | 'wake_ms' | 'group_id' | 'repeat'
>;

export const lookedOf = (row: LookAnswer): LookedRow => ({
  id: Number(row.id),
  epoch: Number(row.epoch),
  name: row.name,
  attempts: Number(row.attempts),
  max_attempts: numberOf(row.max_attempts),
  leased_by: row.leased_by,
  group: row.group_id,
  failed: isTrue(row.failed),
  is_odd: isTrue(row.is_odd),
  repeat: row.repeat,
  due_ms: Number(row.due_ms),
  wake_ms: numberOf(row.wake_ms),
  now_ms: Number(row.now_ms),
});

export type RetryAnswer = AsText<'id' | 'epoch' | 'name' | 'failed', 'wake_ms' | 'group_id'>;

export const retriedOf = (row: RetryAnswer): RetriedRow => ({
  id: Number(row.id),
  epoch: Number(row.epoch),
  name: row.name,
  group: row.group_id,
  failed: isTrue(row.failed),
  wake_ms: numberOf(row.wake_ms),
});

export type PassedAnswer = AsText<
  'id' | 'epoch' | 'name' | 'failed' | 'wake_ms' | 'passed',
  'group_id'
>;

export const passedOf = (row: PassedAnswer): PassedRow => ({
  ...retriedOf(row),
  wake_ms: Number(row.wake_ms),
  passed: isTrue(row.passed),
});

type WakeTuple = [
  id: number,
  epoch: number,
  name: string,
  wakeUs: number,
  /** See `wakeJson`. */
  ended: number,
  group: string | null,
];

type PageAnswer = AsText<'wakes' | 'now_ms', 'cursor_ms' | 'cursor_id'>;
export type LoadAnswer = PageAnswer &
  AsText<'nodes' | 'pauses' | 'later_ms', 'is_held'> & { last_instance: string | null };
export type SweepAnswer = PageAnswer & { oldest_ms: string | null };

function pageOf(row: PageAnswer): Pick<LoadedPage, 'wakes' | 'cursor' | 'nowMs'> {
  const tuples = JSON.parse(row.wakes) as WakeTuple[];
  const wakeMs = numberOf(row.cursor_ms);
  return {
    wakes: tuples.map(([id, epoch, name, wakeUs, ended, group]) => ({
      id,
      epoch,
      name,
      group,
      wakeMs: wakeUs / 1e3,
      stalled: ended % REFUSED >= 2,
      failed: ended % REFUSED > 0,
      refused: ended >= REFUSED,
      orphaned: ended % REFUSED === 3,
    })),
    cursor: wakeMs === null ? null : { wakeMs, id: Number(row.cursor_id) },
    nowMs: Number(row.now_ms),
  };
}

export const loadedOf = (row: LoadAnswer): LoadedPage => ({
  nodes: JSON.parse(row.nodes) as LoadedPage['nodes'],
  pauses: JSON.parse(row.pauses) as LoadedPage['pauses'],
  lastInstance: row.last_instance,
  isHeld: row.is_held === null ? null : row.is_held === 'true',
  laterMs: Number(row.later_ms),
  ...pageOf(row),
});

export const sweptOf = (row: SweepAnswer): SweptPage => ({
  oldestMs: numberOf(row.oldest_ms),
  ...pageOf(row),
});

/** An occurrence that has ended; its delay goes on. */
export interface Recurring {
  id: number;
  epoch: number;
  /** Of the occurrence. */
  dueMs: number;
  /** Undefined: it was the last one, and the row leaves the table. */
  nextMs: number | undefined;
  /** Null: no history row. */
  state: 'completed' | 'discarded' | null;
  /** Null: no attempt ended it. */
  latenessMs: number | null;
  error: string | null;
  /** Null: the node holds it. If not, it is due and has used that many attempts. */
  maxAttempts: number | null;
  /** Instants that are left out before the next one. */
  skipped?: Record<'count' | 'fromMs' | 'toMs', number> | undefined;
  /** What its repeat stores from then on. */
  more: Readonly<Record<string, unknown>>;
}

export interface RecurredRow {
  id: number;
  epoch: number;
  name: string;
  key: string | null;
  group: string | null;
  /** JSON text; null: none. */
  headers: string | null;
  /** Attempts and error of the occurrence that has ended. */
  attempts: number;
  error: string | null;
  /** Null: it has ended. */
  wake_ms: number | null;
}

export type RecurAnswer = AsText<
  'id' | 'epoch' | 'name' | 'attempts',
  'wake_ms' | 'key' | 'group_id' | 'headers' | 'error'
>;

export const recurredOf = ({ group_id: group, ...row }: RecurAnswer): RecurredRow => ({
  ...row,
  group,
  id: Number(row.id),
  epoch: Number(row.epoch),
  attempts: Number(row.attempts),
  wake_ms: numberOf(row.wake_ms),
});

/** The delay's next wake; undefined: it has ended. */
export const wakeOfRecurred = (row: RecurredRow): Wake | undefined => {
  const { id, epoch, name, group, wake_ms: wakeMs } = row;
  return wakeMs === null
    ? undefined
    : { id, epoch, name, group, wakeMs, stalled: false, failed: false };
};
