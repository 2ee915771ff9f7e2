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
  `CASE WHEN jsonb_array_length(d.move_log) >= ${MOVES_KEPT_MAX} THEN d.move_log - 0
             ELSE COALESCE(d.move_log, '[]') END
        || jsonb_build_array(jsonb_build_object('call', '${call}', 'atMs', floor(date_part('epoch', (SELECT now FROM clock)) * 1e3)::bigint,
             'fromMs', ${wholeEpochMs('d.due_at')}, 'toMs', ${wholeEpochMs(`(${due})`)}))`;

/** SQL for the log of a row for which time passes, in tests. */
export const olderMoves = (row: string, ms: string): string =>
  `(SELECT jsonb_agg(m.entry || jsonb_build_object('atMs', (m.entry ->> 'atMs')::float8 - ${ms},
             'fromMs', (m.entry ->> 'fromMs')::float8 - ${ms}, 'toMs', (m.entry ->> 'toMs')::float8 - ${ms})
           ORDER BY m.ord)
      FROM jsonb_array_elements(${row}.move_log) WITH ORDINALITY AS m(entry, ord))`;
