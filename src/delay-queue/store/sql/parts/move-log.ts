import type { MoveCall } from '../../../delay/moves.js';
import { wholeEpochMs } from '../../tables/schema.js';

/*
 * The moves of a delay's due time: a JSON array in its row, which its line of history takes over. The statement that moves it
 * writes the row anyway, so a move costs its entry and nothing else. There is a CTE `clock`.
 */

/** So many are kept: the last ones. */
export const MOVES_KEPT_MAX = 20;

/** SQL for the log of the row `d`, whose due time becomes `due`. */
export const movedTo = (due: string, call: MoveCall): string =>
  `CASE WHEN pg_catalog.jsonb_typeof(d.move_log) <> 'array' THEN '[]'
             WHEN pg_catalog.jsonb_array_length(d.move_log) >= ${MOVES_KEPT_MAX} THEN d.move_log - 0
             ELSE COALESCE(d.move_log, '[]') END
        || pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('call', '${call}', 'atMs', pg_catalog.floor(pg_catalog.date_part('epoch', (SELECT now FROM clock)) * 1e3::float8)::bigint,
             'fromMs', ${wholeEpochMs('d.due_at')}, 'toMs', ${wholeEpochMs(`(${due})`)}))`;
