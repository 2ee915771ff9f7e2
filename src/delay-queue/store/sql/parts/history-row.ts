import type { HistoryKept } from '../../../delay/attempts.js';
import type { Tables } from '../../tables/schema.js';

/** What a line of history says of a delay that has ended; SQL each. */
interface HistoryRow {
  /** The alias of the row as it was. */
  of: string;
  /** Where it comes from. */
  from: string;
  where?: string;
  state: string;
  latenessMs?: string;
  /** Default: the node that had it leased. */
  node?: string;
  /** Default: the last error of the row. */
  error?: string;
  /** Default: what the row says. */
  attemptLog?: string;
}

/** A last CTE `ended` that writes history, or nothing where none is kept. There is a CTE `clock`. */
export function intoHistory(
  { history }: Tables,
  kept: HistoryKept,
  {
    of,
    from,
    where,
    state,
    latenessMs = 'NULL',
    node = `${of}.leased_by`,
    error = `${of}.last_error`,
    attemptLog = `${of}.attempt_log`,
  }: HistoryRow,
): string {
  if (kept === 'nothing') return '';
  const [column, log] = kept === 'attempts' ? [', attempt_log', `, ${attemptLog}`] : ['', ''];
  return `,
ended AS (
  INSERT INTO ${history} (id, ended_at, due_at, created_at, lateness_ms, epoch, attempts, state, name, key, node, error,
    group_id, headers, move_log${column})
  SELECT ${of}.id, clock.now, ${of}.due_at, ${of}.created_at, ${latenessMs}, ${of}.epoch, ${of}.attempts,
         ${state}, ${of}.name, ${of}.key, ${node}, ${error},
         ${of}.group_id, ${of}.headers, ${of}.move_log${log}
  FROM ${from}, clock${where === undefined ? '' : `\n  WHERE ${where}`}
)`;
}

/** Columns of a row that only its line of history needs. */
export const logged = (kept: HistoryKept): string[] =>
  kept === 'nothing'
    ? []
    : ['group_id', 'headers', 'move_log', ...(kept === 'attempts' ? ['attempt_log'] : [])];

/** The same behind the last of other columns. */
export const andLogged = (kept: HistoryKept, of = ''): string =>
  logged(kept)
    .map((column) => `, ${of}${column}`)
    .join('');
