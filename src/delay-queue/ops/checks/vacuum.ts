import { inWords } from '../../core/index.js';
import { type Check, type Finding, notice, ok, problem } from '../../core/ops.js';
import type { HolderRow, RelationRow } from './vacuum.sql.js';
import { callSql, grouped, sqlText } from './words.js';

/* What keeps vacuum from its work, and what follows: for the health of a node, and for the doctor. */

export function judgeHolder(holder: HolderRow): Finding {
  const { kind, name, state, heldMs } = holder;
  // Of a connected standby: its own queries hold the snapshot.
  if (kind === 'slot' && state === 'active') {
    return ok('snapshots', `the replication slot ${name} is active`);
  }
  if (kind === 'slot') {
    return notice('snapshots', `the replication slot ${name} is ${state}`, {
      means: 'It holds WAL, and may hold a snapshot: the disk fills up.',
      todo: 'If nothing is to read it any more, drop it.',
      sql: callSql('pg_drop_replication_slot', sqlText(name)),
    });
  }
  const since = heldMs === null ? '' : ` for ${inWords(heldMs)}`;
  const found = `${describeHolder(holder)} has held a snapshot${since}`;
  const means =
    'Until it ends, vacuum removes no row that has died since: the tables grow, and scans get slower.';
  if (kind === 'session') {
    return notice('snapshots', found, {
      means,
      todo: 'If it was forgotten, end it.',
      sql: callSql('pg_terminate_backend', name),
    });
  }
  return problem('snapshots', found, {
    means: `${means} It survives a restart of the server.`,
    todo: 'Commit it, or roll it back.',
    sql: `ROLLBACK PREPARED ${sqlText(name)}`,
  });
}

export function describeHolder({ kind, name, role, application, state }: HolderRow): string {
  const what = `${kind} ${name}${role === null ? '' : ` of ${role}`}`;
  return kind === 'session'
    ? `${what}${application ? ` (${application})` : ''}, ${state ?? 'unknown'}`
    : what;
}

/** Dead rows and bytes below this are cleaned up soon, or cost nothing. */
const DEAD_ROWS_MIN = 100_000;
const INDEX_BYTES_MIN = 100_000_000;

/** More dead rows than this for each live one, and more bytes of indexes for each row. */
const DEAD_PER_ROW = 10;
const INDEX_BYTES_PER_ROW = 10 * 155;

export const SIZE_CHECKS: readonly Check<RelationRow>[] = [
  {
    id: 'dead-rows',
    level: 'notice',
    isWrong: ({ rows, deadRows }) => deadRows > rows * DEAD_PER_ROW + DEAD_ROWS_MIN,
    found: ({ table, rows, deadRows, vacuumedAt }) =>
      `${table} has ${grouped(deadRows)} dead rows beside ${grouped(rows)} live ones; last vacuum: ${vacuumedAt ?? 'never'}`,
    means: 'Scans pass over them.',
    todo: 'If this does not fall by itself, look for a held snapshot; then vacuum.',
    sql: ({ schema, table }) => `VACUUM (VERBOSE) "${schema}".${table}`,
  },
  {
    id: 'bloat',
    level: 'notice',
    isWrong: ({ rows, indexBytes }) => indexBytes > rows * INDEX_BYTES_PER_ROW + INDEX_BYTES_MIN,
    found: ({ table, rows, indexBytes }) =>
      `the indexes of ${table} take ${grouped(Math.round(indexBytes / 1_048_576))} MiB for ${grouped(rows)} rows`,
    means: 'Their pages are mostly empty. They are used again when the table grows.',
    todo: 'To give the space back, build them again; everything goes on meanwhile.',
    sql: ({ schema, table }) => `REINDEX TABLE CONCURRENTLY "${schema}".${table}`,
  },
];
