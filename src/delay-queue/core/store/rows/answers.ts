import { given, type Runner } from '../../database/runner.js';
import { toNumber } from './columns.js';
import { type LoadedPage, REFUSED, type SweptPage } from './delay-rows.js';

/*
 * The answers of statements. Every column is a text, cast in the statement: an application may
 * change how `pg` parses any type, and a role how Postgres formats numbers and instants. The texts
 * are whole numbers or `numeric`, which have only one format, as do the numbers in JSON.
 */

/** The columns of a row, each as text. */
export type AsText<Column extends string, MayBeNull extends string = never> = Record<
  Column,
  string
> &
  Record<MayBeNull, string | null>;

/** For present instants, whose microseconds a float can hold. */
export const msOfUs = (us: string): number => Number(us) / 1e3;

export type IdAnswer = AsText<'id'>;
export const readId = ({ id }: IdAnswer): number => Number(id);

export type CountAnswer = AsText<'count'>;

/** Runs a statement, and reads each row of its answer. */
export async function readRows<Row>(
  runner: Pick<Runner, 'query'>,
  sql: string,
  parameters: unknown[],
  read: (answer: never) => Row,
): Promise<Row[]> {
  return (await runner.query<never>(sql, parameters)).map((answer) => read(answer));
}

/** Runs a statement that always answers one row, and reads that. */
export async function readRow<Row>(
  ...[runner, sql, parameters, read]: Parameters<typeof readRows<Row>>
): Promise<Row> {
  return given((await readRows(runner, sql, parameters, read))[0]);
}

export const readNowMs = (row: AsText<'now_ms'>): number => Number(row.now_ms);

export const readCount = ({ count }: CountAnswer): number => Number(count);

/** A page of history of which some was deleted. */
export type DeletedAnswer = CountAnswer &
  AsText<'read'> &
  AsText<never, 'ended_at' | 'id' | 'epoch'>;

/** Instant, id and epoch of the row behind which a page begins, as parameters of its statement. */
export type PagePosition = readonly (string | null)[];

export const FIRST_PAGE: PagePosition = ['-infinity', '0', '0'];

/** @returns undefined behind a page without a row */
export const endPosition = ({
  ended_at: endedAt,
  id,
  epoch,
}: DeletedAnswer): PagePosition | undefined =>
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

export const readClaimed = (row: ClaimAnswer) => ({
  id: Number(row.id),
  epoch: Number(row.epoch),
  name: row.name,
  key: row.key,
  /** The extras and the repeat as JSON text; null: none of these. */
  extras: row.extras,
  payload: row.payload,
  due_ms: msOfUs(row.due_us),
  created_ms: msOfUs(row.created_us),
  attempts: Number(row.attempts),
  max_attempts: Number(row.max_attempts),
  now_ms: msOfUs(row.now_us),
});

export type ClaimedRow = ReturnType<typeof readClaimed>;

/** Reads a row that becomes a dead letter. */
export const readOnDead = (row: ClaimAnswer & AsText<never, 'last_error'>) =>
  Object.assign(readClaimed(row), { last_error: row.last_error });

export type OnDeadRow = ReturnType<typeof readOnDead>;

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
type LoadAnswer = PageAnswer &
  AsText<'nodes' | 'pauses' | 'later_ms', 'is_held'> & { last_instance: string | null };
type SweepAnswer = PageAnswer & { oldest_ms: string | null };

function readWakes(row: PageAnswer): Pick<LoadedPage, 'wakes' | 'cursor' | 'nowMs'> {
  const tuples = JSON.parse(row.wakes) as WakeTuple[];
  const wakeMs = toNumber(row.cursor_ms);
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

export const readLoaded = (row: LoadAnswer): LoadedPage => ({
  nodes: JSON.parse(row.nodes) as LoadedPage['nodes'],
  pauses: JSON.parse(row.pauses) as LoadedPage['pauses'],
  lastInstance: row.last_instance,
  isHeld: row.is_held === null ? null : row.is_held === 'true',
  laterMs: Number(row.later_ms),
  ...readWakes(row),
});

export const readSwept = (row: SweepAnswer): SweptPage => ({
  oldestMs: toNumber(row.oldest_ms),
  ...readWakes(row),
});
